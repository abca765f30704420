//! `sonnet`.

use std::collections::HashSet;

use gen_dataset::Tokens;

use crate::{tokenizers::sentencepiece, tool::Tool};

#[test]
fn lengths_are_exact_and_the_beginning_is_shared() {
    let tool = Tool::new();
    let tokens = Tokens::load("qwen3").unwrap();
    for (input, prefix) in [(550, 200), (60, 0), (31, 30), (200, 17)] {
        let rows = tool.rows(&format!("sonnet --num-prompts 60 --input-len {input} --prefix-len {prefix}"));
        let prompts: Vec<Vec<u32>> =
            rows.iter().map(|row| tokens.encode(row.prompt.as_deref().unwrap()).unwrap()).collect();
        for (row, ids) in rows.iter().zip(&prompts) {
            assert_eq!(
                (ids.len(), row.prompt_tokens, row.max_tokens),
                (input, Some(input as u64), Some(150))
            );
            assert_eq!(ids[..prefix], prompts[0][..prefix]);
        }
        let distinct: HashSet<_> = prompts.iter().collect();
        assert_eq!(distinct.len(), 60, "{input} {prefix}");
    }
}

#[test]
fn rows_depend_on_seed_and_number_alone() {
    let tool = Tool::new();
    let many = tool.run("sonnet --num-prompts 500 --seed 3").out;
    let few = tool.run("sonnet --num-prompts 5 --seed 3").out;
    assert!(few.lines().count() == 5 && many.starts_with(&few));
    assert_ne!(few, tool.run("sonnet --num-prompts 5 --seed 4").out);
}

#[test]
fn another_text_and_tokenizer_can_be_given() {
    let tool = Tool::new();
    let name = sentencepiece(&tool);
    let tokens = Tokens::load(&name).unwrap();
    tool.write("poem.txt", "ka ke ki ko ku\n\nsa se si so su\r\nta te ti to tu\n");
    let flags = format!("sonnet poem.txt --tokenizer {name} --num-prompts 20 --input-len 40 --prefix-len 25");
    for row in tool.rows(&flags) {
        let text = row.prompt.unwrap();
        assert_eq!(tokens.count(&text).unwrap(), 40);
        assert!(["ka ke", "sa se", "ta te"].iter().any(|start| text.contains(start)), "{text}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let tool = Tool::new();
    tool.write("empty.txt", "\n \n");
    tool.run("sonnet --input-len 100 --prefix-len 100").refused("--prefix-len 100");
    tool.run("sonnet empty.txt").refused("no lines to take");
    tool.run("sonnet none.txt").refused("none.txt");
    tool.run("sonnet --max-model-len 550").refused("--max-model-len 550");
}
