//! `trace`.

use std::{collections::HashSet, fs, path::Path};

use gen_dataset::Tokens;
use records::Prompt;

use crate::{
    tokenizers::{letters, sentencepiece},
    tool::{Ended, Tool},
};

/// A file of `tests/data`.
fn sample(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).display().to_string()
}

/// A line of a Mooncake trace.
fn line(ms: u64, input: u64, ids: &[u64]) -> String {
    format!(
        "{{\"timestamp\": {ms}, \"input_length\": {input}, \"output_length\": 1, \"hash_ids\": {ids:?}}}\n"
    )
}

fn ok(ended: &Ended) -> Vec<Prompt> {
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.rows()
}

fn times(rows: &[Prompt]) -> Vec<f64> {
    rows.iter().map(|row| row.at_us.unwrap().us()).collect()
}

fn outputs(rows: &[Prompt]) -> Vec<u64> {
    rows.iter().filter_map(|row| row.max_tokens).collect()
}

/// The tokens of each prompt, as many as the row says and none of them added.
fn encoded(rows: &[Prompt], tokens: &Tokens) -> Vec<Vec<u32>> {
    let encode = |row: &Prompt| {
        let ids = tokens.encode(row.prompt.as_deref().unwrap()).unwrap();
        assert_eq!(row.prompt_tokens, Some(ids.len() as u64));
        assert!(!ids.iter().any(|id| tokens.is_added(*id)));
        ids
    };
    rows.iter().map(encode).collect()
}

fn common(one: &[u32], other: &[u32]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[test]
fn mooncakes_rows_keep_times_lengths_and_shared_blocks() {
    let tool = Tool::new();
    for name in ["qwen3".to_owned(), sentencepiece(&tool)] {
        let ended = tool.run(&format!("trace {} --tokenizer {name}", sample("mooncake_sample.jsonl")));
        assert!(ended.err.contains("skipped 1 rows without input or output"), "{}", ended.err);
        let rows = ok(&ended);
        assert_eq!(times(&rows), [0.0, 0.0, 3_053_000.0, 3_053_500.0, 5_518_002.0]);
        assert_eq!(outputs(&rows), [52, 26, 3, 490, 7]);
        let ids = encoded(&rows, &Tokens::load(&name).unwrap());
        assert_eq!(ids.iter().map(Vec::len).collect::<Vec<_>>(), [1536, 1100, 700, 1100, 600]);
        assert_eq!(common(&ids[0], &ids[1]), 1024);
        assert_eq!(common(&ids[0], &ids[2]), 512);
        assert_eq!(ids[1], ids[3], "equal ids and lengths");
        assert_eq!(common(&ids[0], &ids[4]), 0);
        // The block of id 46, cut, after another one.
        assert_eq!(ids[4][512..], ids[0][512..600]);
    }
}

#[test]
fn azures_rows_keep_times_and_lengths() {
    let tool = Tool::new();
    let tokens = Tokens::load("qwen3").unwrap();
    let rows = ok(&tool.run(&format!("trace {}", sample("azure_2023_sample.csv"))));
    assert_eq!(times(&rows), [0.0, 4_314_579.0, 4_541_877.0, 4_710_428.0]);
    assert_eq!(outputs(&rows), [44, 10, 10, 16]);
    let ids = encoded(&rows, &tokens);
    assert_eq!(ids.iter().map(Vec::len).collect::<Vec<_>>(), [374, 39, 39, 87]);
    assert_eq!(common(&ids[1], &ids[2]), 0);

    let ended = tool.run(&format!("trace {}", sample("azure_2024_sample.csv")));
    assert!(ended.err.contains("skipped 1 rows without input or output"), "{}", ended.err);
    let rows = ok(&ended);
    assert_eq!(times(&rows), [0.0, 9_930.0, 2_000_001.0]);
    encoded(&rows, &tokens);
}

/// Tokens that merge across the borders of blocks shift what follows, but no length.
#[test]
fn lengths_are_exact_whatever_the_tokenizer() {
    let tool = Tool::new();
    let name = letters(&tool);
    let trace = [line(0, 48, &[1, 2, 3]), line(0, 48, &[1, 2, 4]), line(1, 48, &[1, 2, 3]), line(2, 9, &[5])];
    let file = "t.jsonl --block-size 16";
    tool.write("t.jsonl", trace.concat());
    let rows = ok(&tool.run(&format!("trace {file} --tokenizer {name}")));
    let ids = encoded(&rows, &Tokens::load(&name).unwrap());
    assert_eq!(ids.iter().map(Vec::len).collect::<Vec<_>>(), [48, 48, 48, 9]);
    assert_eq!(ids[0], ids[2]);
    // A merge at each of two borders takes two tokens at most.
    assert!((26..48).contains(&common(&ids[0], &ids[1])), "{}", common(&ids[0], &ids[1]));
}

#[test]
fn prompts_without_ids_all_differ() {
    let tool = Tool::new();
    let name = sentencepiece(&tool);
    let trace = "{\"timestamp\":0,\"input_length\":1,\"output_length\":1}\n".repeat(105);
    let ended = tool.run_with(&format!("trace --tokenizer {name}"), &trace);
    assert_eq!(ended.err, "");
    let texts: HashSet<String> = ok(&ended).into_iter().filter_map(|row| row.prompt).collect();
    assert_eq!(texts.len(), 105);
}

#[test]
fn rows_with_fewer_ids_go_on_with_text_of_their_own() {
    let tool = Tool::new();
    let trace = [line(0, 100, &[7, 8]), line(0, 100, &[7, 8]), line(0, 32, &[7, 8])].concat();
    let ended = tool.run_with("trace - --isl-block-size 16", &trace);
    assert!(ended.err.contains("stdin: 2 of 3 rows have fewer hash_ids than blocks of 16"), "{}", ended.err);
    let ids = encoded(&ok(&ended), &Tokens::load("qwen3").unwrap());
    assert_eq!((common(&ids[0], &ids[1]), common(&ids[0], &ids[2])), (32, 32));
}

#[test]
fn a_block_depends_on_seed_and_id_alone() {
    let tool = Tool::new();
    let one = ok(&tool.run_with("trace", &line(0, 600, &[1 << 60, 5])));
    let other = ok(&tool.run_with("trace", &[line(0, 9, &[4]), line(7, 1024, &[1 << 60, 6])].concat()));
    let seeded = ok(&tool.run_with("trace --seed 1", &line(0, 600, &[1 << 60, 5])));
    let ids = encoded(&[&one[..], &other[1..], &seeded[..]].concat(), &Tokens::load("qwen3").unwrap());
    assert_eq!(common(&ids[0], &ids[1]), 512);
    assert!(common(&ids[0], &ids[2]) < 3);
}

#[test]
fn rows_do_not_depend_on_threads_or_number() {
    let trace: Vec<String> = (0..300).map(|row| line(row * 10, 1500, &[row % 3, row % 7, row])).collect();
    let mut outs = HashSet::new();
    for threads in ["1", "3"] {
        let mut tool = Tool::new();
        tool.var("RAYON_NUM_THREADS", threads);
        let all = tool.run_with("trace", &trace.concat());
        let few = tool.run_with("trace --num-prompts 10", &trace.concat());
        assert_eq!(few.out.lines().count(), 10);
        assert!(all.out.starts_with(&few.out));
        assert_eq!(all.out.lines().count(), 300);
        outs.insert(all.out);
    }
    assert_eq!(outs.len(), 1);
}

/// A release that changes this changes everybody's datasets: say so in its notes.
#[test]
fn the_rows_of_a_seed_stay_the_same() {
    let tool = Tool::new();
    let trace = [line(5, 6, &[0, 1]), line(7, 5, &[0])].concat();
    let flags = format!("trace --block-size 4 --tokenizer {} --seed 42 --workload w", sentencepiece(&tool));
    let first = r#"{"kind":"prompt","v":1,"id":"0","workload":"w","prompt":"hu ma pa xi fa yu","prompt_tokens":6,"max_tokens":1,"at_us":0}"#;
    let second = r#"{"kind":"prompt","v":1,"id":"1","workload":"w","prompt":"hu ma pa xi fa","prompt_tokens":5,"max_tokens":1,"at_us":2000}"#;
    assert_eq!(tool.run_with(&flags, &trace).out, format!("{first}\n{second}\n"));
}

#[test]
fn a_window_is_rebased_to_its_first_row() {
    let tool = Tool::new();
    let file = sample("mooncake_sample.jsonl");
    for (flags, expected) in [
        ("--start-offset 3", vec![0.0, 500.0, 2_465_002.0]),
        ("--start-offset 3.053 --end-offset 5.518002", vec![0.0, 500.0]),
        ("--end-offset 3.053", vec![0.0, 0.0]),
        ("--start-offset 3 --num-prompts 1", vec![0.0]),
    ] {
        assert_eq!(times(&ok(&tool.run(&format!("trace {file} {flags}")))), expected, "{flags}");
    }
    // What is made does not depend on the window.
    let all = ok(&tool.run(&format!("trace {}", sample("azure_2023_sample.csv"))));
    let last = ok(&tool.run(&format!("trace {} --start-offset 4.6", sample("azure_2023_sample.csv"))));
    assert_eq!((last.len(), &last[0].prompt), (1, &all[3].prompt));
    tool.run(&format!("trace {file} --start-offset 60")).refused("none can be taken (--start-offset");
    tool.run(&format!("trace {file} --start-offset 2 --end-offset 2")).refused("--end-offset must lie after");
    // Beyond the window's end nothing is read.
    let broken = [line(0, 1, &[1]), line(1000, 1, &[1]), "broken".to_owned()].concat();
    assert_eq!(ok(&tool.run_with("trace --end-offset 1", &broken)).len(), 1);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let tool = Tool::new();
    let good = line(5, 512, &[1]);
    for (bad, problem) in [
        (line(4, 512, &[1]), "t:2: `timestamp` lies before that of an earlier row; sort the rows by it: jq"),
        (
            line(5, 512, &[1, 2]),
            "t:2: `hash_ids` has 2 ids, but 512 tokens are 1 blocks of 512; give the trace's own",
        ),
        (line(5, 1 << 40, &[1]), "t:2: a length of 1099511627776 tokens; the most is 16777216"),
        (good.replace("\"output_length\": 1, ", ""), "t:2: no `output_length`"),
        (good.replace("timestamp", "time"), "t:2: `time` is no field"),
        ("nonsense".to_owned(), "t:2: not a JSON object"),
    ] {
        tool.write("t", [good.clone(), bad].concat());
        let ended = tool.run("trace t");
        assert_eq!((ended.code, ended.rows().len()), (Some(2), 1), "{}", ended.err);
        assert!(ended.err.contains(problem), "{problem:?} is not in {:?}", ended.err);
    }
    let header = "\u{FEFF}TIMESTAMP,ContextTokens,GeneratedTokens\r\n2024-05-10 00:00:01,5,1\r\n";
    for (bad, problem) in [
        ("2024-05-10 00:00:00.999999,5,1\r\n", "t:3: `TIMESTAMP` lies before that of an earlier row"),
        ("2024-05-10 00:00:02,5\r\n", "t:3: no `GeneratedTokens`"),
        ("2024-05-10 00:00:02,five,1\r\n", "t:3: `ContextTokens` is \"five\""),
    ] {
        tool.write("t", [header, bad].concat());
        let ended = tool.run("trace t");
        assert_eq!((ended.code, ended.rows().len()), (Some(2), 1), "{}", ended.err);
        assert!(ended.err.contains(problem), "{problem:?} is not in {:?}", ended.err);
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let tool = Tool::new();
    let azure = fs::read_to_string(sample("azure_2023_sample.csv")).unwrap();
    tool.run_with("trace", "").refused("no row to write: the input is empty");
    tool.run_with("trace", "Timestamp,Model\n").refused("stdin:1: neither a JSON object");
    tool.run_with("trace --format azure", &line(0, 1, &[1])).refused("stdin:1: no column `TIMESTAMP`");
    tool.run_with("trace --format mooncake", &azure).refused("stdin:1: not a JSON object");
    tool.run_with("trace --block-size 16", &azure).refused("--block-size: Azure's traces have no blocks");
    for flags in
        ["--start-offset -1", "--end-offset nan", "--block-size 0", "--num-prompts 0", "--format burstgpt"]
    {
        tool.run(&format!("trace t {flags}")).refused(flags.split(' ').next().unwrap());
    }
}

#[test]
fn a_context_cuts_outputs() {
    let tool = Tool::new();
    let ended = tool.run(&format!("trace {} --max-model-len 1200", sample("mooncake_sample.jsonl")));
    assert!(ended.err.contains("output shortened in 1 rows, 1 rows dropped"), "{}", ended.err);
    assert_eq!(outputs(&ok(&ended)), [26, 3, 100, 7]);
}
