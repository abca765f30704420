//! `trace`.

use gen_dataset::Tokens;
use records::Prompt;

use crate::tool::Tool;

fn data(name: &str) -> String {
    format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// What a row says: prompt tokens, output tokens, µs.
fn shape(rows: &[Prompt]) -> Vec<(u64, u64, f64)> {
    rows.iter()
        .map(|row| (row.prompt_tokens.unwrap(), row.max_tokens.unwrap(), row.at_us.unwrap().us()))
        .collect()
}

fn encoded(rows: &[Prompt]) -> Vec<Vec<u32>> {
    let tokens = Tokens::load("qwen3").unwrap();
    rows.iter().map(|row| tokens.encode(row.prompt.as_deref().unwrap()).unwrap()).collect()
}

fn shared(one: &[u32], other: &[u32]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[test]
fn mooncakes_blocks_are_shared_and_nothing_else() {
    let tool = Tool::new();
    let ended = tool.run(&format!("trace {}", data("mooncake.jsonl")));
    assert!(ended.err.contains("skipped 1 requests of no input or output"), "{}", ended.err);
    let rows = ended.rows();
    let expected = [(1200, 52, 0.0), (1500, 26, 0.0), (600, 9, 2_052_500.0), (1024, 7, 8_000_000.0)];
    assert_eq!(shape(&rows), expected);
    let ids = encoded(&rows);
    for (ids, (length, ..)) in ids.iter().zip(expected) {
        assert_eq!(ids.len() as u64, length);
    }
    assert_eq!(shared(&ids[0], &ids[1]), 1024);
    assert_eq!(shared(&ids[0], &ids[2]), 512);
    assert_eq!(shared(&ids[1], &ids[3]), 1024);
}

#[test]
fn blocks_depend_on_seed_and_name_alone() {
    let tool = Tool::new();
    let line = r#"{"timestamp": 7, "input_length": 600, "output_length": 9, "hash_ids": [46, 50]}"#;
    let alone = tool.run_with("trace -", line).rows();
    let among = tool.rows(&format!("trace {}", data("mooncake.jsonl")));
    assert_eq!(alone[0].prompt, among[2].prompt);
    assert_ne!(tool.run_with("trace - --seed 1", line).rows()[0].prompt, among[2].prompt);
}

#[test]
fn what_the_blocks_leave_is_the_prompts_own() {
    let tool = Tool::new();
    let row = |at: u64| {
        format!("{{\"timestamp\":{at},\"input_length\":40,\"output_length\":1,\"hash_ids\":[1,2]}}\n")
    };
    let ended = tool.run_with("trace - --block-size 16", &(row(0) + &row(1)));
    assert!(ended.err.contains("2 prompts are longer than their `hash_ids`"), "{}", ended.err);
    let ids = encoded(&ended.rows());
    assert_eq!((ids[0].len(), shared(&ids[0], &ids[1])), (40, 32));
    // As recorded: the same blocks and the same length are the same prompt.
    let rows = tool.run_with("trace - --block-size 20", &(row(0) + &row(1))).rows();
    assert_eq!(rows[0].prompt, rows[1].prompt);
}

#[test]
fn azures_times_and_lengths_are_kept() {
    let tool = Tool::new();
    let rows = tool.rows(&format!("trace {}", data("azure.csv")));
    let expected = [(374, 44, 0.0), (396, 109, 4_314_579.0), (879, 55, 4_541_877.0), (17, 16, 64_541_877.0)];
    assert_eq!(shape(&rows), expected);
    let ids = encoded(&rows);
    assert!(ids.iter().zip(expected).all(|(ids, (length, ..))| ids.len() as u64 == length));
    assert!(shared(&ids[0], &ids[1]) < 4);
    let window =
        tool.rows(&format!("trace {} --start-offset 4 --end-offset 60 --num-prompts 5", data("azure.csv")));
    assert_eq!(shape(&window), [(396, 109, 0.0), (879, 55, 227_298.0)]);
}

#[test]
fn faults_are_said_with_their_place() {
    let tool = Tool::new();
    let rows = "{\"timestamp\":9,\"input_length\":3,\"output_length\":1}\n{\"timestamp\":8,\"input_length\":3,\"output_length\":1}\n";
    for (words, input, part) in [
        ("trace -", rows, "stdin:2: its time is earlier than that of the line before"),
        (
            "trace -",
            "{\"timestamp\":9}\n",
            "stdin:1: not a row of a Mooncake trace: missing field `input_length`",
        ),
        ("trace -", "a,b\n1,2\n", "no column `TIMESTAMP`"),
        (
            "trace -",
            "TIMESTAMP,ContextTokens,GeneratedTokens\nnow,1,2\n",
            "stdin:2: column `TIMESTAMP`: `now`",
        ),
        (
            "trace -",
            "{\"timestamp\":0,\"input_length\":512,\"output_length\":1,\"hash_ids\":[1,2]}\n",
            "stdin:1: 2 `hash_ids` for an `input_length` of 512",
        ),
        ("trace - --start-offset 9 --end-offset 9", "", "--end-offset 9"),
        ("trace -", "", "no row to write"),
    ] {
        let ended = tool.run_with(words, input);
        assert_eq!(ended.code, Some(2), "{part}: {}", ended.err);
        assert!(ended.err.contains(part), "{:?} is not in {:?}", part, ended.err);
    }
}
