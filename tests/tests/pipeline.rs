//! From prompts to a verdict.

use std::fs;

use end_to_end::{Sim, bash, err, of_kind, out, rows, run, tool};

/// One pipeline against `sim`, run as a person types it; returns the records.
fn fire(sim: &Sim, dataset: &str, flags: &str) -> String {
    let script =
        format!("set -o pipefail; gen-dataset {dataset} | fire-requests --base-url {} {flags}", sim.url);
    let output = run(&mut bash(&script));
    assert!(output.status.success(), "{script}: {}", err(&output));
    out(&output)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn field(rows: &[serde_json::Value], name: &str) -> Vec<f64> {
    rows.iter().map(|row| row[name].as_f64().unwrap_or_else(|| panic!("no {name} in {row}"))).collect()
}

#[test]
fn the_figures_are_those_the_server_was_set_to() {
    let sim = Sim::start(&["--preset", "fixed", "--ttft-ms", "80", "--tpot-ms", "10"]);
    for backend in ["openai", "openai-chat"] {
        // A busy machine only ever adds time: one good try of three shows what the tools make of it.
        let tries: Vec<(f64, f64)> = (0..3).map(|_| ttft_and_tpot_ms(&sim, backend)).collect();
        let good = |(ttft, tpot): &(f64, f64)| (ttft - 80.0).abs() < 2.0 && (tpot - 10.0).abs() < 2.0;
        assert!(tries.iter().any(good), "{backend}: TTFT and TPOT {tries:?} ms, set to 80 and 10");
    }
}

/// Medians of a small run.
fn ttft_and_tpot_ms(sim: &Sim, backend: &str) -> (f64, f64) {
    let flags = format!("--backend {backend} --max-concurrency 4 --ignore-eos");
    let text = fire(sim, "random --input-len 64 --output-len 16 --num-prompts 24 --seed 7", &flags);
    let timings = of_kind(&text, "timing");
    assert_eq!(timings.len(), 24);
    for row in &timings {
        assert_eq!((&row["outcome"], &row["tokens_from"]), (&"ok".into(), &"usage".into()), "{row}");
        assert_eq!(row["output_tokens"], 16, "{row}");
    }
    let (ttft, e2e) = (field(&timings, "ttft_us"), field(&timings, "e2e_us"));
    let tpot = ttft.iter().zip(&e2e).map(|(ttft, e2e)| (e2e - ttft) / 15.0).collect();
    (median(ttft) / 1e3, median(tpot) / 1e3)
}

#[test]
fn a_run_is_bracketed_and_its_rows_stand_alone() {
    let sim = Sim::start(&["--preset", "fixed", "--ttft-ms", "5", "--tpot-ms", "1"]);
    let flags = "--run night-1 --label engine=sim --max-concurrency 3 --ignore-eos --seed 9";
    let text = fire(&sim, "random --input-len 8 --output-len 4 --num-prompts 10 --workload tiny", flags);
    let all = rows(&text);
    assert_eq!(all.first().unwrap()["kind"], "run_start");
    assert_eq!(all.last().unwrap()["kind"], "run_end");
    assert_eq!(all.len(), 12);
    assert_eq!(all[0]["labels"]["engine"], "sim");
    assert_eq!(all[0]["max_concurrency"], 3);
    assert_eq!(all[11]["ok"], 10);
    assert_eq!(all[11]["stopped_by"], "input_end");
    let mut ids: Vec<u64> = of_kind(&text, "timing")
        .iter()
        .map(|row| {
            assert_eq!((&row["run"], &row["workload"]), (&"night-1".into(), &"tiny".into()));
            row["id"].as_str().unwrap().parse().unwrap()
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..10).collect::<Vec<_>>());
}

#[test]
fn jq_made_rows_and_filtered_rows_stay_legal() {
    let sim = Sim::start(&["--preset", "fixed", "--ttft-ms", "5", "--tpot-ms", "1"]);
    let script = format!(
        "set -o pipefail; printf '%s\\n' one two three |
         jq -Rc '{{prompt: ., output_tokens: 6, id: input_line_number}}' |
         fire-requests --base-url {} --ignore-eos | grep '\"timing\"' | shuf | summarize --format json",
        sim.url
    );
    let output = run(&mut bash(&script));
    assert!(output.status.success(), "{}", err(&output));
    let summary = &of_kind(&out(&output), "summary")[0];
    assert_eq!((&summary["completed"], &summary["total_output_tokens"]), (&3.into(), &18.into()));
}

#[test]
fn an_open_loop_keeps_its_schedule_under_a_cap() {
    let sim = Sim::start(&["--preset", "fixed", "--ttft-ms", "100", "--tpot-ms", "1"]);
    let flags = "--request-rate 40 --burstiness inf --max-concurrency 2 --ignore-eos";
    let text = fire(&sim, "random --input-len 8 --output-len 1 --num-prompts 20", flags);
    let timings = of_kind(&text, "timing");
    let mut scheduled = field(&timings, "scheduled_us");
    scheduled.sort_by(f64::total_cmp);
    for (at, us) in scheduled.iter().enumerate() {
        assert!((us - (at + 1) as f64 * 25_000.0).abs() <= 1.0, "request {at} was scheduled at {us}");
    }
    let late =
        timings.iter().map(|row| row["sent_us"].as_f64().unwrap() - row["scheduled_us"].as_f64().unwrap());
    // 20 requests of 100 ms, two at a time: the last starts about 0.9 s in, 0.4 s after its turn.
    assert!(late.fold(0.0, f64::max) > 200_000.0, "the cap makes requests late, and the record shows it");
}

#[test]
fn a_traces_requests_are_due_when_they_were_recorded() {
    let sim = Sim::start(&["--preset", "fixed", "--ttft-ms", "5", "--tpot-ms", "1"]);
    let script = format!(
        "set -o pipefail
         printf '{{\"timestamp\": %s, \"input_length\": 40, \"output_length\": 3, \"hash_ids\": [1, 2, 3]}}\\n' \
             1700000000000 1700000000000.25 1700000000090 1700000000200.001 |
         gen-dataset trace --block-size 16 | tee rows.jsonl |
         fire-requests --base-url {} --ignore-eos",
        sim.url
    );
    let folder = tempfile::tempdir().unwrap();
    let output = run(bash(&script).current_dir(folder.path()));
    assert!(output.status.success(), "{}", err(&output));
    let given = field(&rows(&fs::read_to_string(folder.path().join("rows.jsonl")).unwrap()), "at_us");
    assert_eq!(given, [0.0, 250.0, 90_000.0, 200_001.0]);
    let mut timings = of_kind(&out(&output), "timing");
    timings.sort_by_key(|row| row["id"].as_str().map(str::to_owned));
    assert_eq!(field(&timings, "scheduled_us"), given);
    for row in &timings {
        assert_eq!((&row["outcome"], &row["output_tokens"]), (&"ok".into(), &3.into()), "{row}");
        let (due, sent) = (row["scheduled_us"].as_f64(), row["sent_us"].as_f64());
        assert!(sent >= due, "sent before it was due: {row}");
    }
}

#[test]
fn warm_up_rows_are_written_but_not_measured() {
    let sim = Sim::start(&["--preset", "fixed", "--ttft-ms", "30", "--tpot-ms", "1"]);
    let flags = "--num-warmups 3 --max-concurrency 1 --ignore-eos";
    let text = fire(&sim, "random --input-len 8 --output-len 2 --num-prompts 5", flags);
    let timings = of_kind(&text, "timing");
    let warm = timings.iter().filter(|row| row["phase"] == "warmup");
    assert_eq!((timings.len(), warm.count()), (8, 3));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    fs::write(&file, &text).unwrap();
    let output = run(tool("summarize").arg(&file).args(["--format", "json"]));
    let summary = &of_kind(&out(&output), "summary")[0];
    assert_eq!((&summary["completed"], &summary["warmups"]), (&5.into(), &3.into()));
}

#[test]
fn workloads_are_told_apart_to_the_end() {
    let sim = Sim::start(&["--preset", "fixed", "--ttft-ms", "5", "--tpot-ms", "1"]);
    let script = format!(
        "set -o pipefail
         {{ gen-dataset random --input-len 8 --output-len 4 --num-prompts 6 --workload short
            gen-dataset random --input-len 64 --output-len 8 --num-prompts 4 --workload long --seed 1; }} |
         jq -c '.id = .workload + \"-\" + .id' |
         fire-requests --base-url {} --ignore-eos --max-concurrency 4 >base.jsonl
         sed 's/\"outcome\":\"ok\"/\"outcome\":\"ok\"/' base.jsonl >new.jsonl
         summarize --by workload --format json base.jsonl
         compare --by workload --format json base.jsonl new.jsonl",
        sim.url
    );
    let folder = tempfile::tempdir().unwrap();
    let output = run(bash(&script).current_dir(folder.path()));
    assert!(output.status.success(), "{}", err(&output));
    let text = out(&output);
    let summaries = of_kind(&text, "summary");
    let completed =
        |name: &str| summaries.iter().find(|row| row["workload"] == name).map(|row| row["completed"].clone());
    assert_eq!((completed("short"), completed("long")), (Some(6.into()), Some(4.into())));
    let comparisons = of_kind(&text, "comparison");
    assert!(comparisons.iter().any(|row| row["workload"] == "long"));
    assert!(comparisons.iter().all(|row| row["direction"] != "worse"), "a run against itself is no worse");
}

#[test]
fn a_regression_fails_the_gate() {
    let fast = Sim::start(&["--preset", "fixed", "--ttft-ms", "10", "--tpot-ms", "2"]);
    let slow = Sim::start(&["--preset", "fixed", "--ttft-ms", "60", "--tpot-ms", "2"]);
    let script = format!(
        "gen-dataset random --input-len 8 --output-len 4 --num-prompts 12 >prompts.jsonl
         fire-requests prompts.jsonl --base-url {} --ignore-eos --max-concurrency 2 --output base.jsonl
         fire-requests prompts.jsonl --base-url {} --ignore-eos --max-concurrency 2 --output new.jsonl
         compare base.jsonl new.jsonl --fail-if 'p99_ttft_ms>+5%' >/dev/null; echo $?
         compare new.jsonl base.jsonl --fail-if 'p99_ttft_ms>+5%' >/dev/null; echo $?",
        fast.url, slow.url
    );
    let folder = tempfile::tempdir().unwrap();
    let output = run(bash(&script).current_dir(folder.path()));
    assert_eq!(out(&output), "1\n0\n", "{}", err(&output));
    assert!(err(&output).contains("p99_ttft_ms>+5%"), "{}", err(&output));
}

#[test]
fn a_server_that_is_not_there_or_refuses_is_one_clear_line() {
    let sim = Sim::start(&[]);
    let nobody = "http://127.0.0.1:9";
    for (flags, code, message) in [
        (format!("--base-url {nobody}"), 2, nobody),
        (format!("--base-url {nobody} --model m"), 1, "refused"),
        (format!("--base-url {} --model no-such-model", sim.url), 2, "no-such-model"),
        (format!("--base-url {} --endpoint /v1/nothing", sim.url), 1, "404"),
    ] {
        let script = format!(
            "gen-dataset random --input-len 8 --output-len 2 --num-prompts 2 | fire-requests {flags} >rows.jsonl; \
             echo ${{PIPESTATUS[1]}}"
        );
        let folder = tempfile::tempdir().unwrap();
        let output = run(bash(&script).current_dir(folder.path()));
        assert_eq!(out(&output).trim(), code.to_string(), "{flags}: {}", err(&output));
        assert!(err(&output).contains(message), "{flags}: {}", err(&output));
    }
}
