//! The same prompts as vLLM's own code drew (`golden/*datasets.json`), byte for byte.

use std::{collections::BTreeMap, fmt::Write, path::PathBuf};

use records::Prompt;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::tool::Tool;

fn golden(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", name].iter().collect()
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The command line of a case.
fn command(case: &Value) -> String {
    let mut args = case["args"].as_object().unwrap().clone();
    let mut take =
        |key: &str| args.remove(key).map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
    let mut command = vec![take("dataset").unwrap().replace('_', "-")];
    command.extend(take("file").map(|file| golden(&file).display().to_string()));
    command.extend(["--like".to_owned(), format!("vllm-{}", case["vllm"].as_str().unwrap())]);
    command.extend(["--num-prompts".to_owned(), take("num").unwrap()]);
    for (key, value) in args {
        let flag = format!("--{}", key.replace('_', "-"));
        match value {
            Value::Bool(true) => command.push(flag),
            value => command.extend([flag, value.to_string()]),
        }
    }
    command.join(" ")
}

fn check(case: &Value, rows: &[Prompt]) -> Result<(), String> {
    let expect = &case["expect"];
    let prompts: Vec<&str> = rows.iter().map(|row| row.prompt.as_deref().unwrap()).collect();
    let lens: Vec<(u64, u64)> =
        rows.iter().map(|row| (row.prompt_tokens.unwrap(), row.max_tokens.unwrap())).collect();
    // As Python's json.dumps spaces it.
    let dumped: Vec<String> = lens.iter().map(|(input, output)| format!("[{input}, {output}]")).collect();
    let found = BTreeMap::from([
        ("n", Value::from(rows.len())),
        ("total_input_tokens", lens.iter().map(|(input, _)| input).sum::<u64>().into()),
        ("sha256_all_prompts", sha256(&prompts.join("\0")).into()),
        ("sha256_lens", sha256(&format!("[{}]", dumped.join(", "))).into()),
    ]);
    for (key, value) in found {
        if expect[key] != value {
            return Err(format!("{key} is {value}, not {}", expect[key]));
        }
    }
    for (prompt, expected) in prompts.iter().zip(expect["first_prompts"].as_array().unwrap()) {
        if !expected.is_null() && expected != prompt {
            return Err(format!("a first prompt is {prompt:?}, not {expected}"));
        }
    }
    Ok(())
}

fn check_all(file: &str, least: usize) {
    let file: Value = serde_json::from_slice(&std::fs::read(golden(file)).unwrap()).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() >= least);
    let tool = Tool::new();
    let mut wrong = String::new();
    for case in cases {
        let command = command(case);
        if let Err(problem) = check(case, &tool.rows(&command)) {
            let _ = writeln!(wrong, "{command}: {problem}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_golden_case_comes_out() {
    check_all("datasets.json", 22);
}

/// Long prefixes, separate ratios, rests, chat templates, repeats.
#[test]
fn every_further_case_comes_out() {
    check_all("more_datasets.json", 25);
}

/// The input tokens that the lab page reports for its four random workloads.
#[test]
fn the_lab_pages_totals_come_out() {
    for (count, length, total) in [
        ("1000", "128", 127_698),
        ("500", "2000", 998_175),
        ("500", "4000", 1_997_942),
        ("100", "32000", 3_200_000),
    ] {
        let flags = format!("random --like vllm-0.11 --seed 42 --num-prompts {count} --input-len {length}");
        let found: u64 = Tool::new().rows(&flags).iter().filter_map(|row| row.prompt_tokens).sum();
        assert_eq!(found, total, "{count} x {length}");
    }
}

/// After so many words of the same seed vLLM's `get_request` draws its first arrival: with these flags, the times of
/// `fire-requests --like` were those of vLLM's own functions, run one after the other.
#[test]
fn rows_say_what_arrivals_are_drawn_after() {
    let tool = Tool::new();
    for (like, seed, words) in [("vllm-0.33", 0, 2911), ("vllm-0.33", 42, 2927), ("vllm-0.11", 42, 2927)] {
        let flags = "--num-prompts 53 --num-prefixes 5 --prefix-len 40 --suffix-len 30 --output-len 4";
        let rows = tool.rows(&format!("prefix-repetition --like {like} --seed {seed} {flags}"));
        assert_eq!(rows.len(), 50);
        assert!(rows.iter().all(|row| row.numpy_words == Some(words)), "{like} {seed}");
    }
    assert_eq!(tool.rows("random --like vllm-0.33 --num-prompts 1")[0].numpy_words, None);
}

#[test]
fn what_vllm_cannot_do_is_refused() {
    let tool = Tool::new();
    tool.write("rows.jsonl", "{\"prompt\":\"a\",\"output_tokens\":3}\n");
    for (words, part) in [
        ("random --like vllm-0.33 --max-model-len 9", "--max-model-len"),
        ("random --like vllm-0.33 --input-len 1 --range-ratio 0.5", "--input-len 1"),
        ("random --like vllm-0.12", "vllm-0.33"),
        ("sharegpt x.json --like vllm-0.11 --disable-shuffle", "--disable-shuffle with --like vllm-0.11"),
        ("custom rows.jsonl --like vllm-0.11 --output-len -1", "--output-len -1 with --like vllm-0.11"),
        ("custom rows.jsonl --like vllm-0.33 --shuffle", "--shuffle"),
        ("custom rows.jsonl --skip-chat-template", "--like"),
        ("custom rows.jsonl --output-len 0", "--output-len 0"),
    ] {
        tool.run(words).refused(part);
    }
}

/// 0.11 gives all rows 256 tokens unless told otherwise; whoever states lengths should hear of it.
#[test]
fn lengths_that_are_passed_over_are_spoken_of() {
    let tool = Tool::new();
    tool.write("rows.jsonl", "{\"prompt\":\"a\",\"output_tokens\":3}\n");
    let ended = tool.run("custom rows.jsonl --like vllm-0.33 --skip-chat-template");
    assert_eq!(ended.rows()[0].max_tokens, Some(256));
    assert!(ended.err.contains("--output-len -1"), "{}", ended.err);
    let ended = tool.run("custom rows.jsonl --like vllm-0.33 --skip-chat-template --output-len -1");
    assert_eq!((ended.rows()[0].max_tokens, ended.err.as_str()), (Some(3), ""));
}
