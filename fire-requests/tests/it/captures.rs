//! What real servers sent, read by read and byte for byte, each read at its time.

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};

use crate::{
    baseline::Stage,
    server::Step,
    tool::{Done, ms},
};

/// A recorded request.
struct Capture {
    /// The path that it was sent to.
    path: String,
    /// What each read gave, and when, in µs after the request was written.
    reads: Vec<(u64, Vec<u8>)>,
}

impl Capture {
    fn open(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name);
        let text = fs::read_to_string(path).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let path = lines.next().unwrap()["path"].as_str().unwrap().to_owned();
        let read = |line: Value| (line["us"].as_u64().unwrap(), decoded(line["b64"].as_str().unwrap()));
        Self { path, reads: lines.map(read).collect() }
    }

    /// Plays it once, to a request with these flags.
    fn replay(&self, flags: &[&str]) -> (Stage, Done) {
        let reads = self.reads.clone();
        let stage = Stage::scripted(move |_, late| {
            let read = |(us, bytes): &(u64, Vec<u8>)| {
                [Step::At(Duration::from_micros(*us), late.clone()), Step::Send(bytes.clone())]
            };
            reads.iter().flat_map(read).chain([Step::Close]).collect()
        });
        let done = stage.fire(flags);
        assert_eq!(stage.server.seen()[0].path, self.path);
        (stage, done)
    }

    /// The data of each event, and the time of the read that completed it; by plain search, not by the tool's parser.
    fn events(&self) -> Vec<(u64, String)> {
        let (mut stream, mut events, mut at) = (String::new(), Vec::new(), 0);
        for (us, bytes) in &self.reads {
            stream += std::str::from_utf8(bytes).unwrap();
            while let Some(start) = stream[at..].find("data: ").map(|found| at + found + "data: ".len())
                && let Some(end) = stream[start..].find("\n\n").map(|found| start + found)
            {
                events.push((*us, stream[start..end].to_owned()));
                at = end;
            }
        }
        events
    }
}

fn decoded(base64: &str) -> Vec<u8> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let values: Vec<u32> =
        base64.chars().filter_map(|letter| LETTERS.find(letter)).map(|at| at as u32).collect();
    let group = |group: &[u32]| {
        let word = group.iter().fold(0, |word, value| word << 6 | value) << (6 * (4 - group.len()));
        word.to_be_bytes()[1..group.len()].to_vec()
    };
    values.chunks(4).flat_map(group).collect()
}

/// Whether an event of any of these APIs carries text.
fn speaks(event: &str) -> bool {
    let event: Value = serde_json::from_str(event).unwrap_or_default();
    let texts =
        ["/choices/0/text", "/choices/0/delta/content", "/choices/0/delta/reasoning", "/content", "/delta"];
    texts.iter().any(|text| event.pointer(text).and_then(Value::as_str).is_some_and(|text| !text.is_empty()))
}

/// A streamed answer and its row.
struct Streamed {
    file: &'static str,
    backend: &'static str,
    events: &'static str,
    reason: &'static str,
    /// Tokens of the prompt, of the output, and of the prefix cache.
    counts: Value,
    from: &'static str,
    text: &'static str,
    thinking: Option<&'static str>,
}

fn streams() -> [Streamed; 9] {
    let stream = |file, backend, events, counts, text| Streamed {
        file,
        backend,
        events,
        reason: "length",
        counts,
        from: "usage",
        text,
        thinking: None,
    };
    [
        Streamed {
            // The prompt's count is the row's; the server's was not asked for.
            from: "events",
            ..stream(
                "llama.cpp-chat-no-usage.jsonl",
                "openai-chat",
                "rccccccccccccfd",
                json!([2, 12, null]),
                "Amaradu River, a sacred river in the Amazon",
            )
        },
        stream(
            "llama.cpp-chat.jsonl",
            "openai-chat",
            "rccccccccccccccccccccccccfud",
            json!([40, 24, 0]),
            "The most renowned rivers in the world are:\n\n1. The River Nile: Africa, which is the longest river in",
        ),
        stream(
            "llama.cpp-completions.jsonl",
            "openai",
            "ccccccccccccccccsd",
            json!([4, 16, 0]),
            ", the city was a place of myth and magic, a place where the ordinary",
        ),
        Streamed {
            reason: "limit",
            ..stream(
                "llama.cpp-native-completion.jsonl",
                "llamacpp",
                "ccccccccccccccccs",
                json!([4, 16, 3]),
                ", when you were just a child, you could walk up to anyone and touch",
            )
        },
        stream(
            "vllm-chat-continuous-usage.jsonl",
            "openai-chat",
            "rccccccccccccccccud",
            json!([16, 16, null]),
            " meille себе Yorkers㈎Narrated_partition negatively.createClassnever/free LOCInitiallyimageName紧张 attacks nhân",
        ),
        Streamed {
            thinking: Some(
                " Expression CAN Expression реальноhardware eighteenftime Billion parity，《(bodyParser_CREAT practitioner纳米 Isaiah今回_learning revision matching工艺 ensured сильно,midኖ",
            ),
            ..stream(
                "vllm-chat.jsonl",
                "openai-chat",
                "rttttttttttttttttttttttttud",
                json!([12, 24, null]),
                "",
            )
        },
        stream(
            "vllm-completions-logprobs.jsonl",
            "openai",
            "ccccccud",
            json!([4, 6, null]),
            " ComponentHillary авг heavyweight */)Saturday",
        ),
        stream(
            "vllm-completions.jsonl",
            "openai",
            "ccccccccccbcccccud",
            json!([4, 16, null]),
            "ucursal pun Ralph punucursal_SHARE户 Entity Portions เ.�自治区𝚃.goal getInt PLUGIN",
        ),
        Streamed {
            reason: "max_output_tokens",
            thinking: Some(".btnExit_ifaceдо;! düzenlenen;!啐;!ていました\")]\r\n蜘蛛气味溦.solve答 geçir"),
            ..stream(
                "vllm-responses.jsonl",
                "openai-responses",
                "oooottttttttttttttttooof",
                json!([12, 16, 0]),
                "",
            )
        },
    ]
}

#[test]
fn streamed_answers() {
    for expected in streams() {
        let (name, capture) = (expected.file, Capture::open(expected.file));
        let (stage, done) = capture.replay(&["--backend", expected.backend, "--save-text"]);
        let row = done.rows()[0];
        let counts = json!([row["prompt_tokens"], row["output_tokens"], row["cached_tokens"]]);
        assert_eq!(
            (&row["outcome"], &row["events"]),
            (&json!("ok"), &json!(expected.events)),
            "{name}: {row}"
        );
        assert_eq!((&row["finish_reason"], &counts), (&json!(expected.reason), &expected.counts), "{name}");
        assert_eq!(
            (&row["tokens_from"], &row["text"]),
            (&json!(expected.from), &json!(expected.text)),
            "{name}"
        );
        assert_eq!(row["reasoning_text"], json!(expected.thinking), "{name}");

        let events = capture.events();
        let times = row["events_us"].as_array().unwrap();
        assert_eq!(times.len(), events.len(), "{name}");
        for ((due, event), came) in events.iter().zip(times) {
            stage.on_time(event, came.as_f64().unwrap() / 1e3, *due as f64 / 1e3);
        }
        let mut output = events.iter().filter(|(_, event)| speaks(event)).map(|(us, _)| *us as f64 / 1e3);
        let first = output.next().unwrap();
        stage.on_time("TTFT", ms(row, "ttft_us"), first);
        stage.on_time("latency", ms(row, "e2e_us"), output.next_back().unwrap());
    }
}

#[test]
fn whole_answers() {
    for (name, text, thinking, counts) in [
        ("llama.cpp-not-streamed.jsonl", json!("Dhampi: Dhampi"), Value::Null, json!([40, 8, 39])),
        (
            "vllm-not-streamed.jsonl",
            json!(""),
            json!("ออนไล璩信息安全بقاء ciסור השאלה.,\n"),
            json!([12, 8, null]),
        ),
    ] {
        let capture = Capture::open(name);
        let (stage, done) = capture.replay(&["--backend", "openai-chat", "--no-stream", "--save-text"]);
        let row = done.rows()[0];
        let counted = json!([row["prompt_tokens"], row["output_tokens"], row["cached_tokens"]]);
        assert_eq!((&row["outcome"], &row["events"]), (&json!("ok"), &json!("w")), "{name}: {row}");
        assert_eq!((&row["text"], &row["reasoning_text"]), (&text, &thinking), "{name}");
        assert_eq!((&row["finish_reason"], counted), (&json!("length"), counts), "{name}");
        assert_eq!((&row["ttft_us"], &row["e2e_us"]), (&Value::Null, &row["events_us"][0]), "{name}");
        stage.on_time(name, ms(row, "e2e_us"), capture.reads.last().unwrap().0 as f64 / 1e3);
    }
}

#[test]
fn refusals() {
    for (name, backend, status, error) in [
        (
            "llama.cpp-too-long.jsonl",
            "openai",
            400,
            "HTTP 400: request (3001 tokens) exceeds the available context size (2048 tokens), try increasing it",
        ),
        (
            "vllm-too-long.jsonl",
            "openai",
            400,
            "HTTP 400: This model's maximum context length is 32768 tokens. However, you requested 16 output tokens",
        ),
        ("vllm-unknown-model.jsonl", "openai-chat", 404, "HTTP 404: The model `nope` does not exist."),
    ] {
        let (_, done) = Capture::open(name).replay(&["--backend", backend]);
        let row = done.rows()[0];
        assert_eq!((&row["outcome"], &row["status"]), (&json!("http"), &json!(status)), "{name}: {row}");
        assert!(row["error"].as_str().unwrap().starts_with(error), "{name}: {row}");
        assert_eq!((&row["ttft_us"], &row["events"]), (&Value::Null, &json!("")), "{name}");
    }
}

#[test]
fn every_capture_is_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let source = include_str!("captures.rs");
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(source.contains(&format!("\"{name}\"")), "{name} is not replayed");
    }
}
