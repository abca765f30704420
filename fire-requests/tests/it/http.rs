//! Answers whose HTTP is legal and rare, or broken.
