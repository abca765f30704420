//! Against what `vllm bench serve` made of the same requests: its printed block and its result file.
//!
//! `vllm-inf` and `vllm-rate-goodput` are release 0.33 against a simulated server, `vllm-h200-short` is release
//! 0.25 against Qwen3-32B on one H200: it counts the role chunk as output. Texts are left out of the files.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::{fs, path::Path};

use common::{assert_close, end, run, start, summaries, summarize};
use records::{Micros, Rate, RunStart, Timing, TokensFrom};
use serde_json::Value;

const PLAIN: &[&str] = &[];
const ALL: &[&str] = &[
    "--metric-percentiles",
    "50,90,95,99,99.9",
    "--percentile-metrics",
    "ttft,tpot,itl,e2el",
    "--goodput",
    "ttft:100",
    "e2el:200",
];
const CASES: [(&str, &[&str]); 3] =
    [("vllm-inf", PLAIN), ("vllm-rate-goodput", ALL), ("vllm-h200-short", PLAIN)];

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    fs::read_to_string(path).unwrap()
}

fn result(name: &str) -> Value {
    serde_json::from_str(&read(&format!("{name}.json"))).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// The records that we would have written of vLLM's run; `round` says what becomes of its times, in µs.
fn converted(result: &Value, round: fn(f64) -> f64) -> String {
    let micros = |secs: f64| Micros::new(round(secs * 1e6));
    let (starts, ttfts) = (numbers(&result["start_times"]), numbers(&result["ttfts"]));
    let zero = starts.iter().copied().reduce(f64::min).unwrap();
    let row = |at: usize| {
        let gaps = numbers(&result["itls"][at]);
        let latency = result["latencies"].get(at).map_or(ttfts[at] + gaps.iter().sum::<f64>(), number);
        let mut time = ttfts[at];
        let rest = gaps.iter().map(|gap| {
            time += gap;
            micros(time)
        });
        let events_us: Vec<Micros> = std::iter::once(micros(ttfts[at])).chain(rest).collect();
        assert_eq!(result["errors"][at], "", "the golden runs are without failures");
        Timing {
            id: at.to_string(),
            sent_us: Some(micros(starts[at] - zero)),
            ttft_us: Some(micros(ttfts[at])),
            e2e_us: Some(micros(latency)),
            events: "c".repeat(events_us.len()),
            events_us,
            prompt_tokens: result["input_lens"][at].as_u64(),
            output_tokens: result["output_lens"][at].as_u64(),
            tokens_from: Some(TokensFrom::Usage),
            ..Timing::default()
        }
    };
    let rows: Vec<Timing> = (0..starts.len()).map(row).collect();
    let rate = result["request_rate"].as_f64().map_or(Some(Rate::INF), Rate::new);
    let start = RunStart {
        request_rate: rate,
        burstiness: result["burstiness"].as_f64().and_then(Rate::new),
        max_concurrency: result["max_concurrency"].as_u64(),
        ..start("golden", "2026-12-01T03:14:04Z")
    };
    let mut end = end("golden", 0.0, rows.len() as u64);
    end.elapsed_us = micros(number(&result["duration"]));
    run(&start, &rows, &end)
}

/// Lines whose figure needs the latency, which release 0.25 neither saved nor measured as we do: it waits for the
/// usage chunk.
fn lacks_data(name: &str, line: &str) -> bool {
    name == "vllm-h200-short" && line.contains("tpot") | line.contains("TPOT (ms)")
}

fn block(name: &str, args: &[&str], round: fn(f64) -> f64) -> String {
    let done = summarize(&[&["--format", "vllm"], args].concat(), &converted(&result(name), round));
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{name}");
    done.stdout
}

#[test]
fn the_block_is_vllms_byte_for_byte() {
    for (name, args) in CASES {
        let without = |block: &str| {
            block.split_inclusive('\n').filter(|line| !lacks_data(name, line)).collect::<String>()
        };
        assert_eq!(without(&block(name, args, |us| us)), without(&read(&format!("{name}.txt"))), "{name}");
    }
}

/// A microsecond tips three of the figures over to the next hundredth: P99.9 E2EL of one run, two rates of the other,
/// which lasted 0.3 s.
#[test]
fn whole_microseconds_change_no_figure_but_in_its_last_digit() {
    let mut tipped = 0;
    for (name, args) in CASES {
        let (ours, theirs) = (block(name, args, f64::round), read(&format!("{name}.txt")));
        for (our, their) in ours.lines().zip(theirs.lines()).filter(|(_, line)| !lacks_data(name, line)) {
            let cents = |line: &str| line[41..].trim().parse::<f64>().unwrap() * 100.0;
            assert_eq!(our[..41], their[..41]);
            if our != their {
                assert!((cents(our) - cents(their)).abs() < 1.5, "{name}: {our} is not {their}");
                tipped += 1;
            }
        }
        assert_eq!(ours.lines().count(), theirs.lines().count(), "{name}");
    }
    assert_eq!(tipped, 3);
}

#[test]
fn every_figure_of_the_result_file_is_ours() {
    for (name, args) in CASES {
        let result = result(name);
        let all = summaries(args, &converted(&result, |us| us));
        let ours = serde_json::to_value(&all[0]).unwrap();
        let mut compared = 0;
        for (key, value) in result.as_object().unwrap() {
            // Here events and tokens are not one to one, and vLLM counts events.
            let other_peak = key == "max_output_tokens_per_s" && name == "vllm-h200-short";
            let ours_to_give = key != "rtfx" && !other_peak && !lacks_data(name, key);
            if let Some(wanted) = value.as_f64().filter(|_| ours_to_give) {
                let got = ours.get(key).and_then(Value::as_f64);
                assert_close(got, wanted, &format!("{name}: {key}"));
                compared += 1;
            }
        }
        assert!(compared >= 18, "{name}: only {compared} figures compared");
    }
}
