//! `sharegpt`.

use std::collections::HashSet;

use gen_dataset::Tokens;
use serde_json::{Value, json};

use crate::tool::{Ended, Tool};

fn entry(turns: &[(&str, Value)]) -> Value {
    let turns: Vec<Value> = turns.iter().map(|(from, value)| json!({"from": from, "value": value})).collect();
    json!({"id": "x", "conversations": turns})
}

fn good(number: usize) -> Value {
    let question = format!("Question number {number}: what is the answer to it?");
    let answer = format!("The answer to question {number} is this.{}", " And more.".repeat(number));
    entry(&[("human", json!(question)), ("gpt", json!(answer))])
}

fn write(tool: &Tool, entries: &[Value]) {
    tool.write("chats.json", json!(entries).to_string());
}

fn prompts(ended: &Ended) -> Vec<String> {
    ended.rows().into_iter().filter_map(|row| row.prompt).collect()
}

/// Fault G09: entries that are not "human, then gpt".
#[test]
fn roles_are_read_and_the_rest_is_counted() {
    let tool = Tool::new();
    let (question, answer) = (json!("What does the human ask here?"), json!("This is what the model says."));
    write(
        &tool,
        &[
            json!({"id": "none"}),
            entry(&[]),
            entry(&[("human", question.clone())]),
            entry(&[
                ("gpt", json!("Hello, I am first.")),
                ("human", json!("Second, a question?")),
                ("gpt", answer.clone()),
            ]),
            entry(&[
                ("system", json!("You are a helpful model.")),
                ("human", json!("Asked after a system turn?")),
                ("gpt", answer.clone()),
            ]),
            entry(&[("human", Value::Null), ("gpt", answer.clone())]),
            entry(&[("human", json!("")), ("gpt", answer.clone())]),
            entry(&[("human", question.clone()), ("gpt", answer)]),
        ],
    );
    let ended = tool.run("sharegpt chats.json --disable-shuffle --no-oversample");
    assert_eq!(ended.code, Some(0));
    assert_eq!(
        prompts(&ended),
        ["Second, a question?", "Asked after a system turn?", "What does the human ask here?"]
    );
    assert!(ended.err.contains("skipped 5 of 8 entries"), "{}", ended.err);
    assert_eq!(ended.err.lines().filter(|line| line.contains("skipped")).count(), 1);
}

#[test]
fn lengths_are_those_of_question_and_answer() {
    let tool = Tool::new();
    write(&tool, &(0..20).map(good).collect::<Vec<_>>());
    let tokens = Tokens::load("qwen3").unwrap();
    for (index, row) in tool.rows("sharegpt chats.json --disable-shuffle --num-prompts 20").iter().enumerate()
    {
        let turn = |at: usize| good(index)["conversations"][at]["value"].as_str().unwrap().to_owned();
        assert_eq!(row.prompt, Some(turn(0)));
        assert_eq!(row.prompt_tokens, Some(tokens.count(&turn(0)).unwrap()));
        assert_eq!(row.max_tokens, Some(tokens.count(&turn(1)).unwrap()));
    }
    let rows = tool.rows("sharegpt chats.json --num-prompts 20 --output-len 9");
    assert!(rows.iter().all(|row| row.max_tokens == Some(9)));
}

/// vLLM's limits: at least 4 tokens each, at most 1024 for the prompt and 2048 together.
#[test]
fn vllms_limits_hold() {
    let tool = Tool::new();
    let pair = |prompt: usize, answer: usize| {
        entry(&[("human", json!(" the".repeat(prompt))), ("gpt", json!(" the".repeat(answer)))])
    };
    write(
        &tool,
        &[
            pair(3, 9),
            pair(4, 4),
            pair(9, 3),
            pair(1024, 1024),
            pair(1025, 9),
            pair(1024, 1025),
            pair(9, 2039),
        ],
    );
    let lengths = |flags: &str| -> Vec<(u64, u64)> {
        let rows = tool.rows(&format!("sharegpt chats.json --disable-shuffle --no-oversample {flags}"));
        rows.iter().map(|row| (row.prompt_tokens.unwrap(), row.max_tokens.unwrap())).collect()
    };
    assert_eq!(lengths(""), [(4, 4), (1024, 1024), (9, 2039)]);
    assert_eq!(lengths("--output-len 2"), [(4, 2), (9, 2), (1024, 2), (1024, 2), (9, 2)]);
    let ended = tool.run("sharegpt chats.json --no-oversample");
    assert!(ended.err.contains("and 4 too short or too long"), "{}", ended.err);
}

/// Fault G11: more prompts asked for than there are.
#[test]
fn g11_too_few_entries_repeat_or_are_fewer_but_never_in_silence() {
    let tool = Tool::new();
    write(&tool, &(0..5).map(good).collect::<Vec<_>>());
    let ended = tool.run("sharegpt chats.json --num-prompts 12");
    assert_eq!(ended.code, Some(0));
    let rows = ended.rows();
    let ids: HashSet<_> = rows.iter().filter_map(|row| row.id.clone()).collect();
    let texts: HashSet<_> = rows.iter().filter_map(|row| row.prompt.clone()).collect();
    assert_eq!((rows.len(), ids.len(), texts.len()), (12, 12, 5));
    assert!(ended.err.contains("5 usable rows for 12 asked"), "{}", ended.err);

    let fewer = tool.run("sharegpt chats.json --num-prompts 12 --no-oversample");
    assert_eq!((fewer.code, fewer.rows().len()), (Some(0), 5));
    assert!(fewer.err.contains("warning: 5 rows written, 12 asked"), "{}", fewer.err);

    write(&tool, &[entry(&[])]);
    tool.run("sharegpt chats.json").refused("no row to write");
}

#[test]
fn the_order_is_the_seeds() {
    let tool = Tool::new();
    write(&tool, &(0..30).map(good).collect::<Vec<_>>());
    let order = |flags: &str| prompts(&tool.run(&format!("sharegpt chats.json --num-prompts 30 {flags}")));
    assert_eq!(order("--seed 1"), order("--seed 1"));
    assert_ne!(order("--seed 1"), order("--seed 2"));
    assert_ne!(order("--seed 1"), order("--disable-shuffle"));
    let sorted = |mut prompts: Vec<String>| {
        prompts.sort();
        prompts
    };
    assert_eq!(sorted(order("--seed 1")), sorted(order("--disable-shuffle")));
}

#[test]
fn another_file_is_refused() {
    let tool = Tool::new();
    tool.write("rows.jsonl", "{\"prompt\":\"x\"}\n{\"prompt\":\"y\"}\n");
    tool.run("sharegpt rows.jsonl").refused("rows.jsonl: not a JSON array of ShareGPT conversations");
    tool.run("sharegpt missing.json").refused("missing.json: No such file");
    let piped = tool.run_with("sharegpt - --no-oversample", &json!([good(3)]).to_string());
    assert_eq!((piped.code, piped.rows().len()), (Some(0), 1));
    let marked = tool.run_with("sharegpt --no-oversample", &format!("\u{FEFF}{}", json!([good(3)])));
    assert_eq!((marked.code, marked.rows().len()), (Some(0), 1), "{}", marked.err);
}
