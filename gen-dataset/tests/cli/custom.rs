//! `custom`.

use serde_json::json;

use crate::{
    tokenizers::sentencepiece,
    tool::{Ended, Tool},
};

fn ids(ended: &Ended) -> Vec<String> {
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.rows().into_iter().filter_map(|row| row.id).collect()
}

/// Fault G13: JSON lines are split or read wrongly.
#[test]
fn g13_lines_end_at_line_feeds_alone() {
    let tool = Tool::new();
    let odd = "one\u{2028}two\u{85}three\u{2029}four";
    tool.write(
        "rows.jsonl",
        format!(
            "\u{FEFF}{{\"prompt\":\"first\",\"max_tokens\":1}}\r\n\r\n{{\"prompt\":\"{odd}\",\"max_tokens\":2}}\r\n\
             {{\"prompt\":\"last\",\"max_tokens\":3}}"
        ),
    );
    let ended = tool.run("custom rows.jsonl");
    let rows = ended.rows();
    let prompts: Vec<_> = rows.iter().filter_map(|row| row.prompt.as_deref()).collect();
    assert_eq!(prompts, ["first", odd, "last"]);
    assert_eq!(ended.out.matches('\n').count(), 3);
    assert!(!ended.out.contains('\r'));

    let doubled =
        "{\"prompt\":\"a\",\"max_tokens\":1}\n{\"prompt\":\"b\",\"max_tokens\":1}{\"prompt\":\"c\"}\n";
    tool.write("doubled.jsonl", doubled);
    let ended = tool.run("custom doubled.jsonl");
    assert_eq!((ended.code, ended.rows().len()), (Some(2), 1));
    assert!(ended.err.contains("doubled.jsonl:2: more follows the first JSON value"), "{}", ended.err);
    let both = "{\"prompt\":\"b\",\"max_tokens\":1}{\"prompt\":\"c\"}";
    tool.run_with("custom", both).refused("stdin:1: more follows the first JSON value");
    let foreign = "{\"text\":\"b\"}{\"text\":\"c\"}";
    tool.run_with("custom", foreign).refused("stdin:1: more follows the first JSON value");
}

/// Fault G15: prompt and output exceed the model's context.
#[test]
fn the_context_holds_for_each_row() {
    let tool = Tool::new();
    let row = |tokens: usize, output: u64| {
        json!({"prompt": " the".repeat(tokens), "output_tokens": output}).to_string() + "\n"
    };
    tool.write(
        "rows.jsonl",
        [row(300, 10), row(300, 200), row(100, 10), row(100, 200), row(255, 10)].concat(),
    );
    let ended = tool.run("custom rows.jsonl --max-model-len 256");
    let lengths: Vec<_> = ended.rows().iter().map(|row| (row.prompt_tokens, row.max_tokens)).collect();
    assert_eq!(lengths, [(Some(100), Some(10)), (Some(100), Some(156)), (Some(255), Some(1))]);
    assert!(
        ended.err.contains("--max-model-len 256: output shortened in 2 rows, 2 rows dropped"),
        "{}",
        ended.err
    );

    tool.write("long.jsonl", [row(300, 10), row(300, 200)].concat());
    tool.run("custom long.jsonl --max-model-len 256").refused("no row to write: --max-model-len 256");
    let name = sentencepiece(&tool);
    let bos = tool.run_with(
        &format!("custom - --tokenizer {name} --max-model-len 10 --output-len 9"),
        "{\"prompt\":\"ba be bi\"}\n",
    );
    assert_eq!((bos.rows()[0].prompt_tokens, bos.rows()[0].max_tokens), (Some(3), Some(6)));
}

/// Fault G15, on a chat endpoint: the template's tokens count too.
#[test]
fn the_context_holds_with_the_chat_template() {
    let tool = Tool::new();
    let rows = "{\"prompt\":\"Hello\"}\n{\"messages\":[{\"role\":\"system\",\"content\":\"Hi\"}]}\n";
    let flags = "custom - --output-len 9 --max-model-len";
    let outputs = |limit: &str| -> Vec<Option<u64>> {
        let ended = tool.run_with(&format!("{flags} {limit}"), rows);
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        ended.rows().iter().map(|row| row.max_tokens).collect()
    };
    assert_eq!(outputs("10"), [Some(9), Some(9)]);
    // 8 tokens around the one of the text, 9 with the blank line after a system message.
    assert_eq!(outputs("12 --chat"), [Some(3), Some(3)]);
    tool.run_with("custom - --output-len 9 --chat", rows).refused("--max-model-len");
    let plain = sentencepiece(&tool);
    tool.run_with(&format!("{flags} 12 --chat --tokenizer {plain}"), rows)
        .refused("no chat template is known");
}

#[test]
fn what_a_row_lacks_is_said_with_its_place() {
    let tool = Tool::new();
    for (line, problem) in [
        ("{\"txt\":\"x\"}", "rows.jsonl:2: no `prompt` or `messages`"),
        (
            "{\"prompt\":\"x\",\"max_tokens\":1,\"id\":\"\"}",
            "rows.jsonl:2: `id` is empty; give the row a name, or leave `id` out of all rows",
        ),
        (
            "{\"text\":\"x\",\"prompt\":\"y\"}",
            "rows.jsonl:2: both `prompt` and `text`; leave one of them out",
        ),
        ("{\"text\":\"x\",\"images\":[\"y\"]}", "rows.jsonl:2: `images`: write the request as `messages`"),
        (
            "{\"input_length\":9,\"output_length\":9}",
            "rows.jsonl:2: lengths without a text; `gen-dataset trace`",
        ),
        (
            "{\"conversations\":[{\"value\":\"x\"},{\"value\":\"\"}]}",
            "rows.jsonl:2: the answer is empty, so that no output is asked for",
        ),
        (
            "{\"prompt\":\"x\"}",
            "rows.jsonl:2: no `max_tokens` (or `output_tokens`); add it to the row, or give --output-len",
        ),
        ("{\"prompt\":\"\",\"max_tokens\":1}", "rows.jsonl:2: the prompt is empty"),
        ("{\"prompt\":\"x\",\"max_tokens\":0}", "rows.jsonl:2: `max_tokens` is 0"),
        ("{\"prompt\":\"x\",\"max_tokens\":-1}", "rows.jsonl:2: invalid value: integer `-1`"),
        (
            "{\"prompt\":\"x\",\"max_tokens\":1,\"top_p\":0.5}",
            "rows.jsonl:2: `top_p` would be lost; put it into the row's `extra_body`",
        ),
        (
            "{\"prompt\":\"x\",\"max_tokens\":1,\"id\":\"a\"}",
            "rows.jsonl:2: some rows have an `id` and some have none",
        ),
        ("nonsense", "rows.jsonl:2: not a JSON object"),
    ] {
        tool.write("rows.jsonl", format!("{{\"prompt\":\"good\",\"max_tokens\":1}}\n{line}\n"));
        let ended = tool.run("custom rows.jsonl");
        assert_eq!((ended.code, ended.rows().len()), (Some(2), 1), "{line}");
        assert!(ended.err.contains(problem), "{problem:?} is not in {:?}", ended.err);
    }
    tool.run_with("custom", "").refused("no row to write: the input is empty");
}

#[test]
fn rows_pass_with_what_they_carry() {
    let tool = Tool::new();
    let row = json!({"id": 7, "workload": "own", "max_tokens": 5, "at_us": 1500, "extra_body": {"top_p": 0.5},
                     "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]});
    let image = json!({"id": 8, "prompt_tokens": 99, "messages": [{"role": "user", "content": [
        {"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:"}}]}]});
    let stdin = format!("{row}\n{image}\n");
    let rows = tool.run_with("custom - --output-len 40", &stdin).rows();
    assert_eq!(rows[0].id.as_deref(), Some("7"));
    assert_eq!(rows[0].workload.as_deref(), Some("own"));
    assert_eq!(rows[0].messages.as_ref().unwrap().len(), 2);
    assert_eq!((rows[0].prompt_tokens, rows[0].max_tokens), (Some(4), Some(5)));
    assert!(rows[0].at_us.is_some() && rows[0].extra_body.is_some());
    assert_eq!((rows[1].prompt_tokens, rows[1].max_tokens), (Some(99), Some(40)));
    let labelled = tool.run_with("custom - --output-len 40 --workload new --id-prefix a-", &stdin).rows();
    assert!(labelled.iter().all(|row| row.workload.as_deref() == Some("new")));
    assert_eq!(labelled[0].id.as_deref(), Some("a-7"));
}

#[test]
fn rows_of_other_tools_are_read() {
    let tool = Tool::new();
    for (theirs, text, output, at) in [
        (r#"{"prompt":"Hello","output_tokens":5}"#, "Hello", 5, None),
        (r#"{"conversations":[{"value":"Hello"},{"value":" the the the"}]}"#, "Hello", 3, None),
        (
            r#"{"type":"single_turn","text":"Hello","output_length":5,"timestamp":7}"#,
            "Hello",
            5,
            Some(7000.0),
        ),
        (r#"{"text_input":"Hello","output_length":5,"timestamp":0.5}"#, "Hello", 5, Some(500.0)),
        (r#"{"prompt":"Hello","prompt_tokens_count":1,"output_tokens_count":5}"#, "Hello", 5, None),
        (r#"{"text":"Hello"}"#, "Hello", 9, None),
    ] {
        let rows = tool.run_with("custom - --output-len 9", theirs).rows();
        let row = &rows[0];
        assert_eq!((row.prompt.as_deref(), row.prompt_tokens), (Some(text), Some(1)), "{theirs}");
        assert_eq!((row.max_tokens, row.at_us.map(records::Micros::us)), (Some(output), at), "{theirs}");
    }
}

/// As `fire-requests` does; they have no number either.
#[test]
fn records_of_other_kinds_are_passed_over() {
    let tool = Tool::new();
    let side = "{\"kind\":\"gpu\",\"watts\":700}\n";
    let row = "{\"prompt\":\"x\",\"output_tokens\":1}\n";
    for flags in ["", "--shuffle", "--like vllm-0.33 --output-len -1"] {
        let ended = tool.run_with(&format!("custom - {flags}"), &[side, row, side, row].concat());
        let mut found = ids(&ended);
        found.sort();
        assert_eq!(found, ["0", "1"]);
        assert!(ended.err.contains("2 records of other kinds passed over"), "{}", ended.err);
    }
    tool.run_with("custom", side).refused("no row to write: 1 records of other kinds passed over");
}

/// Fault G11: more prompts asked for than there are.
#[test]
fn g11_repeats_have_names_of_their_own() {
    let tool = Tool::new();
    let row = |id: &str| json!({"id": id, "prompt": id, "max_tokens": 1}).to_string() + "\n";
    tool.write("rows.jsonl", ["a", "a#2", "b", "c", "d"].map(row).concat());
    let ended = tool.run("custom rows.jsonl --num-prompts 12");
    let expected = ["a", "a#2", "b", "c", "d", "a#3", "a#2#2", "b#2", "c#2", "d#2", "a#4", "a#2#3"];
    assert_eq!(ids(&ended), expected);
    assert!(ended.err.contains("5 usable rows for 12 asked"), "{}", ended.err);
    let fewer = tool.run("custom rows.jsonl --num-prompts 12 --no-oversample");
    assert_eq!(ids(&fewer).len(), 5);
    assert!(fewer.err.contains("warning: 5 rows written, 12 asked"), "{}", fewer.err);
}

/// Fault G11: what has been repeated is a dataset like any other.
#[test]
fn g11_repeats_can_be_repeated() {
    let tool = Tool::new();
    let once = tool.run_with("custom --num-prompts 3", "{\"id\":\"a\",\"prompt\":\"x\",\"max_tokens\":1}");
    let twice = tool.run_with("custom --num-prompts 6", &once.out);
    assert_eq!(ids(&twice), ["a", "a#2", "a#3", "a#4", "a#2#2", "a#3#2"]);
}

#[test]
fn order_and_number_of_rows() {
    let tool = Tool::new();
    let lines: Vec<String> =
        (0..1000).map(|n| format!("{{\"prompt\":\"row {n}\",\"max_tokens\":1}}")).collect();
    tool.write("rows.jsonl", lines.join("\n"));
    let numbers = |count: u32| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&tool.run("custom rows.jsonl")), numbers(1000));
    assert_eq!(ids(&tool.run("custom rows.jsonl --num-prompts 10")), numbers(10));
    let mut shuffled = ids(&tool.run("custom rows.jsonl --shuffle"));
    assert_eq!(shuffled, ids(&tool.run("custom rows.jsonl --shuffle")));
    assert_ne!(shuffled, ids(&tool.run("custom rows.jsonl --shuffle --seed 1")));
    shuffled.sort_by_key(|id| id.parse::<u32>().unwrap());
    assert_eq!(shuffled, numbers(1000));

    tool.write("two.jsonl", "{\"id\":\"a\",\"prompt\":\"x\"}\n{\"id\":\"b\",\"prompt\":\"y\"}\n");
    let repeated = tool.run("custom two.jsonl --output-len 1 --num-prompts 5");
    assert_eq!(ids(&repeated), ["a", "b", "a#2", "b#2", "a#3"]);
    assert!(repeated.err.contains("2 usable rows for 5 asked"), "{}", repeated.err);
    assert_eq!(ids(&tool.run("custom two.jsonl --output-len 1 --num-prompts 5 --no-oversample")), ["a", "b"]);
}
