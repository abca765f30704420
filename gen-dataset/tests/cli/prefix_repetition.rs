//! `prefix-repetition`.

use std::collections::{HashMap, HashSet};

use gen_dataset::Tokens;

use crate::{tokenizers::sentencepiece, tool::Tool};

const FLAGS: &str = "prefix-repetition --num-prefixes 4 --prefix-len 20 --suffix-len 5 --output-len 7";

#[test]
fn each_prefix_is_shared_evenly_and_lengths_are_exact() {
    let tool = Tool::new();
    for name in ["qwen3".to_owned(), sentencepiece(&tool)] {
        let tokens = Tokens::load(&name).unwrap();
        let rows = tool.rows(&format!("{FLAGS} --num-prompts 41 --tokenizer {name}"));
        let mut uses = HashMap::new();
        let mut prompts = HashSet::new();
        for row in &rows {
            let ids = tokens.encode(row.prompt.as_deref().unwrap()).unwrap();
            assert_eq!((ids.len(), row.prompt_tokens, row.max_tokens), (25, Some(25), Some(7)));
            *uses.entry(ids[..20].to_vec()).or_insert(0) += 1;
            assert!(prompts.insert(ids));
        }
        let mut uses: Vec<i32> = uses.into_values().collect();
        uses.sort_unstable();
        assert_eq!(uses, [10, 10, 10, 11]);
    }
}

#[test]
fn rows_depend_on_seed_and_number_alone() {
    let tool = Tool::new();
    let many = tool.run(&format!("{FLAGS} --num-prompts 3000 --seed 7")).out;
    let few = tool.run(&format!("{FLAGS} --num-prompts 10 --seed 7")).out;
    assert!(few.lines().count() == 10 && many.starts_with(&few));
    let other = tool.run(&format!("{FLAGS} --num-prompts 10 --seed 8")).out;
    assert!(few.lines().zip(other.lines()).all(|(one, other)| one != other));
}

#[test]
fn what_cannot_be_is_refused() {
    let tool = Tool::new();
    tool.run(&format!("{FLAGS} --num-prompts 3 --like vllm-0.33")).refused("--num-prefixes (4)");
    tool.run(&format!("{FLAGS} --max-model-len 25")).refused("--max-model-len 25");
    tool.run(&format!("{FLAGS} --like vllm-0.33 --seed 4294967296")).refused("--seed 4294967296");
}
