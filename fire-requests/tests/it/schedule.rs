//! When requests are sent.

use crate::{
    server::{Server, good},
    tool::{fire, ms, rows},
};

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
