//! When requests are sent.

use serde_json::Value;

use crate::{
    server::{LAST, Server, good, stream},
    tool::{fire, ms, rows},
};

/// How far apart the first and the last request came, in seconds.
fn span(rows: &[&Value], field: &str) -> f64 {
    let times: Vec<f64> = rows.iter().map(|row| ms(row, field) / 1e3).collect();
    let (first, last) =
        (times.iter().copied().fold(f64::MAX, f64::min), times.iter().copied().fold(0.0, f64::max));
    last - first
}

#[test]
fn f40_the_rate_does_not_fall_behind() {
    const COUNT: usize = 600;
    let server = Server::start(|_| stream(0, &[LAST, "[DONE]"]));
    let run = |flags: &[&str]| {
        let done = fire(&server.url, &[&["--request-rate", "200"], flags].concat(), &rows(COUNT));
        assert_eq!(done.one("run_end")["ok"], COUNT, "{}", done.stderr);
        let late = done.rows().iter().map(|row| ms(row, "sent_us") - ms(row, "scheduled_us")).sum::<f64>();
        assert!(late / (COUNT as f64) < 20.0, "lateness adds up: {late} ms in all");
        assert!(done.rows().iter().all(|row| ms(row, "sent_us") >= ms(row, "scheduled_us")));
        assert!(!done.one("run_end")["client"]["send_lag_p99_us"].is_null());
        done
    };
    let even = run(&["--burstiness", "inf"]);
    let due = (COUNT - 1) as f64 / 200.0;
    assert!((span(&even.rows(), "scheduled_us") - due).abs() < 0.001);
    let sent = span(&even.rows(), "sent_us");
    assert!((due * 0.99..due + 0.1).contains(&sent), "{sent} s and not {due}");

    let poisson = run(&["--seed", "7"]);
    let mut due: Vec<f64> = poisson.rows().iter().map(|row| ms(row, "scheduled_us")).collect();
    due.sort_by(f64::total_cmp);
    let gaps: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
    assert!((mean - 5.0).abs() < 0.6, "a mean gap of {mean} ms");
    assert!((deviation / mean - 1.0).abs() < 0.15, "a deviation of {deviation} ms is not Poisson's");
}

#[test]
fn an_open_loop_keeps_its_schedule() {
    let server = Server::start(|_| good());
    let run = || {
        let done =
            fire(&server.url, &["--request-rate", "200", "--burstiness", "inf", "--seed", "3"], &rows(60));
        assert_eq!(done.one("run_end")["ok"], 60, "{}", done.stderr);
        done
    };
    let done = run();
    let lag = ms(&done.one("run_end")["client"], "send_lag_max_us");
    let latest =
        done.rows().iter().map(|row| ms(row, "sent_us") - ms(row, "scheduled_us")).fold(0.0, f64::max);
    assert!(lag > 0.0 && lag <= latest * 1.01 + 0.01, "a lag of {lag} ms, the latest row {latest} ms");
    for (at, row) in done.rows().iter().enumerate() {
        let place: f64 = row["id"].as_str().unwrap().parse().unwrap();
        assert!((ms(row, "scheduled_us") - 5.0 * (place + 1.0)).abs() < 0.01, "row {at}: {row}");
        assert!(ms(row, "sent_us") >= ms(row, "scheduled_us"));
    }
}

#[test]
fn a_cap_makes_requests_late_and_not_fewer() {
    let server = Server::start(|_| good());
    let flags = ["--request-rate", "100", "--burstiness", "inf", "--max-concurrency", "1"];
    let done = fire(&server.url, &flags, &rows(5));
    let last = done.rows()[4];
    assert!((ms(last, "scheduled_us") - 50.0).abs() < 0.01, "{last}");
    assert!(ms(last, "sent_us") > 240.0, "five answers of 60 ms one after the other: {last}");
    assert_eq!(done.one("run_end")["client"]["peak_in_flight"], 1);
    assert!(
        ms(&done.one("run_end")["client"], "send_lag_p99_us") < 50.0,
        "the cap counts as lateness: {done:#?}"
    );
}

#[test]
fn rows_may_say_when() {
    let server = Server::start(|_| good());
    let input = "{\"prompt\":\"a\",\"at_us\":40000}\n{\"prompt\":\"b\",\"at_us\":90000}\n";
    let done = fire(&server.url, &["--request-rate", "1"], input);
    let times: Vec<f64> = done.rows().iter().map(|row| ms(row, "scheduled_us")).collect();
    assert_eq!(times, [40.0, 90.0]);
}

#[test]
fn warmups_lie_before_the_run() {
    let server = Server::start(|_| good());
    let done = fire(&server.url, &["--num-warmups", "3", "--max-concurrency", "2"], &rows(2));
    let (warmups, main): (Vec<_>, Vec<_>) = done.rows().into_iter().partition(|row| row["phase"] == "warmup");
    let mut ids: Vec<_> = warmups.iter().map(|row| row["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!((ids, main.len()), (vec!["warmup-0", "warmup-1", "warmup-2"], 2));
    assert!(warmups.iter().all(|row| ms(row, "sent_us") < -50.0), "{warmups:?}");
    assert!(main.iter().all(|row| ms(row, "sent_us") >= 0.0));
    let (start, end) = (done.one("run_start"), done.one("run_end"));
    assert_eq!((&start["num_warmups"], &end["sent"], &end["ok"]), (&3.into(), &2.into(), &2.into()));
    assert_eq!(done.lines[0]["kind"], "run_start");
}
