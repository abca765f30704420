//! `random`.

use std::collections::HashSet;

use gen_dataset::Tokens;
use records::Prompt;

use crate::{
    tokenizers::{letters, sentencepiece},
    tool::Tool,
};

fn text(row: &Prompt) -> &str {
    row.prompt.as_deref().unwrap()
}

/// Encodes a row again and checks everything it promises about its prompt.
fn check(row: &Prompt, tokens: &Tokens, length: u64) {
    let ids = tokens.encode(text(row)).unwrap();
    assert_eq!(ids.len() as u64, length, "{:?}", text(row));
    assert_eq!(row.prompt_tokens, Some(length));
    assert!(!text(row).is_empty() && !text(row).contains('\u{FFFD}'));
    assert!(!ids.iter().any(|&id| tokens.is_added(id)), "{:?}", text(row));
}

/// Fault G01: prompts drift from the asked length.
#[test]
fn lengths_are_exact() {
    let tool = Tool::new();
    for name in ["qwen3".to_owned(), sentencepiece(&tool), letters(&tool)] {
        let tokens = Tokens::load(&name).unwrap();
        for length in [1, 2, 128, 1023] {
            let flags = format!("random --tokenizer {name} --num-prompts 200 --input-len {length}");
            let rows = tool.rows(&flags);
            assert_eq!(rows.len(), 200);
            for row in &rows {
                check(row, &tokens, length);
            }
        }
    }
}

/// Fault G03: a tiny length gives an empty prompt where the tokenizer adds a BOS.
#[test]
fn one_token_is_one_token_beside_the_bos() {
    let tool = Tool::new();
    let name = sentencepiece(&tool);
    let tokens = Tokens::load(&name).unwrap();
    assert_eq!(tokens.special_count(), 1);
    for row in tool.rows(&format!("random --tokenizer {name} --input-len 1 --num-prompts 105")) {
        check(&row, &tokens, 1);
    }
    tool.run("random --input-len 0").refused("--input-len");
    tool.run("random --input-len 1 --range-ratio 0.3").refused("--range-ratio 0.3");
}

/// Fault G05: special and placeholder tokens get into the text.
#[test]
fn no_added_token_is_drawn_or_spelled() {
    let tool = Tool::new();
    for (name, markers) in
        [(sentencepiece(&tool), ["<|end|>", "<|video|>"]), (letters(&tool), ["<|end|>", "cab"])]
    {
        let tokens = Tokens::load(&name).unwrap();
        let rows = tool.rows(&format!("random --tokenizer {name} --num-prompts 2000 --input-len 40"));
        assert_eq!(rows.len(), 2000);
        for row in rows {
            check(&row, &tokens, 40);
            for marker in markers {
                assert!(!text(&row).contains(marker), "{:?}", text(&row));
            }
        }
    }
}

/// Fault G06: prompts repeat, or start alike.
#[test]
fn prompts_differ_whatever_the_threads() {
    let mut outputs = HashSet::new();
    for threads in ["1", "2", "5"] {
        let mut tool = Tool::new();
        tool.var("RAYON_NUM_THREADS", threads);
        let ended = tool.run("random --num-prompts 500 --input-len 64");
        let prompts: Vec<Prompt> = ended.rows();
        outputs.insert(ended.out);
        let tokens = Tokens::load("qwen3").unwrap();
        let mut ids: Vec<Vec<u32>> = prompts.iter().map(|row| tokens.encode(text(row)).unwrap()).collect();
        ids.sort();
        for pair in ids.windows(2) {
            let common = pair[0].iter().zip(&pair[1]).take_while(|(one, other)| one == other).count();
            assert!(common <= 3, "{common} tokens in common");
        }
    }
    assert_eq!(outputs.len(), 1, "the rows depend on the number of threads");
}

/// Fault G06 where it cannot be helped: a vocabulary of fewer words than rows of one token.
#[test]
fn prompts_that_have_to_repeat_are_counted() {
    let tool = Tool::new();
    let ended =
        tool.run(&format!("random --tokenizer {} --num-prompts 200 --input-len 1", sentencepiece(&tool)));
    let distinct: HashSet<_> = ended.rows().into_iter().map(|row| row.prompt).collect();
    let repeats = format!("warning: {} prompts repeat", 200 - distinct.len());
    assert!(distinct.len() > 100 && ended.err.contains(&repeats), "{} {}", distinct.len(), ended.err);
}

#[test]
fn rows_depend_on_seed_and_number_alone() {
    let tool = Tool::new();
    let flags = format!("random --tokenizer {} --input-len 20 --range-ratio 0.5", sentencepiece(&tool));
    let many = tool.run(&format!("{flags} --num-prompts 3000 --seed 7")).out;
    let few = tool.run(&format!("{flags} --num-prompts 10 --seed 7")).out;
    assert!(many.starts_with(&few) && few.lines().count() == 10);
    let other = tool.run(&format!("{flags} --num-prompts 10 --seed 8")).out;
    assert!(few.lines().zip(other.lines()).all(|(one, other)| one != other));
}

/// A release that changes this changes everybody's datasets: say so in its notes.
#[test]
fn the_rows_of_a_seed_stay_the_same() {
    let tool = Tool::new();
    let flags = format!(
        "random --tokenizer {} --input-len 5 --range-ratio 0.4 --num-prompts 2 --seed 42 --workload w --id-prefix p-",
        sentencepiece(&tool)
    );
    let first = r#"{"kind":"prompt","v":1,"id":"p-0","workload":"w","prompt":"hu ko xi vu li","prompt_tokens":5,"max_tokens":178}"#;
    let second = r#"{"kind":"prompt","v":1,"id":"p-1","workload":"w","prompt":"fa za ma to","prompt_tokens":4,"max_tokens":98}"#;
    assert_eq!(tool.run(&flags).out, format!("{first}\n{second}\n"));
    let qwen3 = tool.rows("random --input-len 3 --num-prompts 1 --seed 42");
    assert_eq!(qwen3[0].prompt.as_deref(), Some(" Bedroom meanings Rt"));
}

/// Fault G08: the range ratio gives lengths of zero, or means the opposite.
#[test]
fn the_range_ratio_is_vllms() {
    let tool = Tool::new();
    let flags = format!(
        "random --tokenizer {} --num-prompts 2000 --input-len 100 --output-len 10 --range-ratio",
        sentencepiece(&tool)
    );
    for (ratio, input, output) in
        [("0", (100, 100), (10, 10)), ("0.3", (70, 130), (7, 13)), ("0.95", (5, 195), (1, 20))]
    {
        let rows = tool.rows(&format!("{flags} {ratio}"));
        let inputs: Vec<u64> = rows.iter().filter_map(|row| row.prompt_tokens).collect();
        let outputs: Vec<u64> = rows.iter().filter_map(|row| row.max_tokens).collect();
        let ends = |lengths: &[u64]| (*lengths.iter().min().unwrap(), *lengths.iter().max().unwrap());
        assert_eq!((ends(&inputs), ends(&outputs)), (input, output), "ratio {ratio}");
        let mean = inputs.iter().sum::<u64>() as f64 / inputs.len() as f64;
        // Four standard errors of the widest window.
        assert!((mean - 100.0).abs() < if ratio == "0.95" { 5.0 } else { 2.0 }, "ratio {ratio}: mean {mean}");
    }
    for ratio in ["1.0", "-0.1", "nan", "inf", "x"] {
        tool.run(&format!("{flags} {ratio}")).refused("--range-ratio");
    }
    assert!(tool.run("random --help").out.contains("SGLang"));
}

#[test]
fn the_prefix_is_shared_and_exact() {
    let tool = Tool::new();
    for name in ["qwen3".to_owned(), sentencepiece(&tool), letters(&tool)] {
        let tokens = Tokens::load(&name).unwrap();
        let flags = "--prefix-len 50 --input-len 10 --num-prompts 20";
        let rows = tool.rows(&format!("random --tokenizer {name} {flags}"));
        let ids: Vec<Vec<u32>> = rows.iter().map(|row| tokens.encode(text(row)).unwrap()).collect();
        for (row, ids_of_row) in rows.iter().zip(&ids) {
            check(row, &tokens, 60);
            assert_eq!(ids_of_row[..50], ids[0][..50]);
        }
        let own: HashSet<&[u32]> = ids.iter().map(|ids| &ids[50..]).collect();
        assert_eq!(own.len(), 20);
    }
}

#[test]
fn the_default_tokenizer_needs_no_network() {
    let mut tool = Tool::new();
    tool.var("HF_ENDPOINT", "http://127.0.0.1:9");
    let ended = tool.run("random --input-len 128 --output-len 32 --num-prompts 200 --seed 42");
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    let rows = ended.rows();
    assert_eq!(rows.len(), 200);
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(row.id, Some(index.to_string()));
        assert_eq!((row.prompt_tokens, row.max_tokens), (Some(128), Some(32)));
        assert_eq!(row.workload, None);
    }
}

#[test]
fn a_context_cuts_outputs() {
    let tool = Tool::new();
    let name = sentencepiece(&tool);
    let flags = "--input-len 100 --output-len 50 --range-ratio 0.5 --num-prompts 300 --max-model-len 140";
    let ended = tool.run(&format!("random --tokenizer {name} {flags}"));
    assert!(ended.err.contains("--max-model-len 140: output shortened in "), "{}", ended.err);
    let rows = ended.rows();
    assert!(rows.len() < 300 && ended.err.contains(&format!("{} rows dropped", 300 - rows.len())));
    for row in rows {
        // One more for the BOS.
        assert!(row.prompt_tokens.unwrap() + row.max_tokens.unwrap() < 140);
    }
}
