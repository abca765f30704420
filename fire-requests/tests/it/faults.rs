//! The public faults of tools like this one, by their ids: each has a test here that is named after it.
//!
//! | ids | where |
//! |---|---|
//! | F01 to F09 | `framing.rs` |
//! | F10 to F23 | `tokens.rs` |
//! | F24 to F34 | `failures.rs` |
//! | F36, F39, F42, F43, F47 | `connections.rs` |
//! | F40 | `schedule.rs` |
//! | F45 | `interrupts.rs` |
//! | F48 | here |
//! | F49 | `manners.rs` |

use std::{fs, path::Path};

const IDS: [u32; 29] = [
    1, 3, 5, 6, 7, 9, 10, 12, 15, 16, 19, 21, 23, 24, 25, 28, 29, 32, 33, 34, 36, 39, 40, 42, 43, 45, 47, 48,
    49,
];

/// All sources in a folder of this crate, with their paths.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                sources.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    sources
}

#[test]
fn every_fault_has_a_test() {
    let tests = sources("tests/it");
    for id in IDS {
        let name = format!("#[test]\nfn f{id:02}_");
        assert!(tests.iter().any(|(_, source)| source.contains(&name)), "no test of F{id:02}");
    }
}

/// Durations come from the monotonic clock: the wall clock names a run, starts it at `--start-at` and stamps its first line, and is compared with
/// the system's stamps of arrivals, whose difference the monotonic clock bounds.
#[test]
fn f48_the_wall_clock_measures_nothing() {
    let wall = ["SystemTime", "UNIX_EPOCH", "Timestamp::now", "Zoned::now", "CLOCK_REALTIME", "gettimeofday"];
    for (path, source) in sources("src") {
        for clock in wall.iter().filter(|clock| source.contains(**clock)) {
            let known = ["src/setup.rs", "src/session.rs", "src/arrival.rs"];
            assert!(known.iter().any(|known| path.ends_with(known)), "{path} reads {clock}");
        }
    }
}
