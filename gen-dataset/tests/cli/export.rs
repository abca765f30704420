//! `export`, and the way back by `custom`.

use std::{
    io::{BufRead, BufReader, Write},
    sync::mpsc::channel,
    thread,
    time::Duration,
};

use records::{Micros, Prompt};
use serde_json::{Value, json};

use crate::tool::{Ended, Tool, wait};

/// Lengths, characters and times of many kinds.
fn texts(timed: bool) -> String {
    let texts =
        ["Hello", "日本語 naïve 😀\u{2028}\u{85}", "two\nlines \"quoted\"", "{\"a\": [1]}", " blanks "];
    let row = |(number, text): (u64, &str)| {
        let at = timed.then_some(number as f64 * 1_234_567.0 + 0.25);
        json!({"prompt": text, "max_tokens": number + 1, "at_us": at}).to_string() + "\n"
    };
    (0..).zip(texts).map(row).collect()
}

fn chats() -> String {
    let row = json!({"max_tokens": 7, "extra_body": {"temperature": 0.5, "tools": []}, "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}], "name": "me"}]});
    format!("{row}\n")
}

/// The rows as `custom` has them at first, and after `export` and `custom` again.
fn round(tool: &Tool, to: &str, rows: &str) -> (Vec<Prompt>, Vec<Prompt>, Ended) {
    let first = tool.run_with("custom", rows);
    assert_eq!(first.code, Some(0), "{}", first.err);
    let theirs = tool.run_with(&format!("export --to {to}"), &first.out);
    assert_eq!(theirs.code, Some(0), "{}", theirs.err);
    assert_eq!(theirs.out.matches('\n').count(), first.rows().len());
    let again = tool.run_with("custom", &theirs.out);
    assert_eq!(again.code, Some(0), "{}", again.err);
    (first.rows(), again.rows(), theirs)
}

#[test]
fn texts_come_back_as_they_were() {
    let tool = Tool::new();
    for to in ["vllm", "aiperf", "guidellm"] {
        let (first, again, _) = round(&tool, to, &texts(false));
        assert_eq!(first, again, "{to}");
    }
    let (first, again, _) = round(&tool, "aiperf", &texts(true));
    assert_eq!(first[1].at_us.map(Micros::us), Some(1_234_567.25));
    assert_eq!(first, again);
}

/// sglang has nothing but chats for rows with an output length.
#[test]
fn texts_are_chats_in_sglang() {
    let tool = Tool::new();
    let (first, again, theirs) = round(&tool, "sglang", &texts(false));
    let chat = |row: &Prompt| Prompt {
        messages: Some(vec![json!({"role": "user", "content": row.prompt})]),
        prompt: None,
        ..row.clone()
    };
    assert_eq!(first.iter().map(chat).collect::<Vec<_>>(), again);
    assert!(theirs.err.contains("`prompt` of 5 rows written as the one user message"), "{}", theirs.err);
}

#[test]
fn chats_come_back_as_they_were() {
    let tool = Tool::new();
    for to in ["sglang", "aiperf"] {
        let (first, again, _) = round(&tool, to, &chats());
        assert_eq!(first, again, "{to}");
    }
    for to in ["vllm", "guidellm"] {
        let ended = tool.run_with(&format!("export --to {to}"), &chats());
        ended.refused(&format!(
            "stdin:1: `messages` have no place in {to}'s rows, which are text; export --to"
        ));
    }
}

#[test]
fn what_is_left_out_is_counted() {
    let tool = Tool::new();
    let row = |id: u8| {
        json!({"id": id, "prompt": "x", "max_tokens": 1, "at_us": 0, "workload": "w", "extra_body": {"top_p": 1}})
            .to_string()
            + "\n"
    };
    tool.write("rows.jsonl", [row(1), row(2)].concat());
    let lost = |to: &str| tool.run(&format!("export --to {to} rows.jsonl")).err;
    for (to, fields) in [
        ("vllm", &["id", "workload", "at_us", "extra_body"][..]),
        ("guidellm", &["id", "workload", "at_us", "extra_body"]),
        ("sglang", &["id", "workload", "at_us"]),
        ("aiperf", &["id", "workload"]),
    ] {
        let err = lost(to);
        let expected: Vec<String> = fields
            .iter()
            .map(|field| {
                format!("gen-dataset: `{field}` of 2 rows left out: {to}'s rows have no place for it")
            })
            .collect();
        let said: Vec<&str> = err.lines().filter(|line| line.contains("left out")).collect();
        assert_eq!(said, expected);
    }
    for (to, flags) in [
        ("vllm", "--custom-output-len -1 --skip-chat-template --disable-shuffle --num-prompts 2"),
        ("sglang", "--dataset-name openai --dataset-path FILE.jsonl --num-prompts 2"),
        ("aiperf", "--custom-dataset-type mooncake_trace --endpoint-type completions --fixed-schedule"),
        ("guidellm", "--data kind=json_file,path=FILE.jsonl"),
    ] {
        assert!(lost(to).contains(&format!("gen-dataset: {to} sends these 2 rows by: ")), "{to}");
        assert!(lost(to).contains(flags), "{to}");
    }
}

#[test]
fn refusals_name_the_line() {
    let tool = Tool::new();
    let good = "{\"prompt\":\"x\",\"max_tokens\":1}\n";
    for (line, problem) in [
        ("{\"prompt\":\"x\"}", "rows.jsonl:2: no `max_tokens` of 1 or more"),
        ("{\"kind\":\"timing\",\"v\":1}", "rows.jsonl:2: a timing record, not a prompt"),
        ("{\"prompt\":\"x\",\"max_tokens\":1,\"top_p\":1}", "rows.jsonl:2: `top_p` would be lost"),
        ("{\"prompt\":\"x\",\"max_tokens\":1,\"at_us\":1}", "rows.jsonl:2: some rows have an `at_us`"),
    ] {
        tool.write("rows.jsonl", format!("{good}{line}\n"));
        let ended = tool.run("export --to aiperf rows.jsonl");
        assert_eq!((ended.code, ended.out.lines().count()), (Some(2), 1), "{line}");
        assert!(ended.err.contains(problem), "{problem:?} is not in {:?}", ended.err);
    }
    tool.run_with("export --to vllm", "").refused("no row to write: the input is empty");
    tool.run("export").refused("--to");
    tool.run("export --to ollama").refused("ollama");
    let side = tool.run_with("export --to vllm", &format!("{{\"kind\":\"gpu\"}}\n{good}"));
    assert_eq!((side.code, side.out.lines().count()), (Some(0), 1));
    assert!(side.err.contains("1 records of other kinds passed over"), "{}", side.err);
}

/// Fault G13: JSON lines are split or read wrongly.
#[test]
fn g13_lines_end_at_line_feeds_alone() {
    let tool = Tool::new();
    let odd = "one\u{2028}two\u{85}three\u{2029}four";
    let row = |text: &str| format!("{{\"prompt\":\"{text}\",\"max_tokens\":1}}");
    let rows = format!("\u{FEFF}{}\r\n\r\n{}\r\n{}", row("first"), row(odd), row("last"));
    let ended = tool.run_with("export --to vllm", &rows);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.ends_with("}\n") && !ended.out.contains('\r'));
    let lines: Vec<Value> =
        ended.out.split_terminator('\n').map(|line| serde_json::from_str(line).unwrap()).collect();
    let prompts: Vec<_> = lines.iter().map(|line| line["prompt"].as_str().unwrap()).collect();
    assert_eq!(prompts, ["first", odd, "last"]);
    tool.run_with("export --to vllm", &row("x").repeat(2))
        .refused("stdin:1: more follows the first JSON value");
}

/// A row goes out before the next one comes in.
#[test]
fn a_slow_input_is_passed_on_at_once() {
    let tool = Tool::new();
    let mut child = tool.start("export --to vllm");
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = channel();
    thread::spawn(move || {
        let mut line = String::new();
        while stdout.read_line(&mut line).unwrap() > 0 {
            sender.send(std::mem::take(&mut line)).unwrap();
        }
    });
    for n in 0..3 {
        writeln!(stdin, "{{\"prompt\":\"row {n}\",\"max_tokens\":1}}").unwrap();
        let line = lines.recv_timeout(Duration::from_secs(60)).expect("the row should be out");
        assert_eq!(line, format!("{{\"prompt\":\"row {n}\",\"output_tokens\":1}}\n"));
    }
    drop(stdin);
    assert_eq!(wait(&mut child), Some(0));
}
