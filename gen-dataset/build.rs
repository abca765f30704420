//! Unpacks the embedded tokenizer. Done at each start, it would take longer than reading it.
#![allow(clippy::print_stdout, reason = "that is how cargo is told")]

use std::{env, error::Error, fs::File, io, path::PathBuf};

use lzma_rust2::XzReader;

const PACKED: &str = "assets/qwen3-tokenizer.json.xz";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={PACKED}");
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    let mut unpacked = File::create(folder.join("qwen3-tokenizer.json"))?;
    io::copy(&mut XzReader::new(File::open(PACKED)?, false), &mut unpacked)?;
    Ok(())
}
