//! Connections: how many, how often, and to where.

use std::{
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use rustls::{ServerConfig, ServerConnection, StreamOwned, pki_types::PrivateKeyDer};

use crate::{
    baseline::{Stage, WORDS, completion, plain, played},
    server::{Server, Step, good},
    tool::{command, finish, fire, ms, rows},
};

#[test]
fn f36_nothing_but_the_cap_limits_concurrency() {
    const ALL: usize = 300;
    let arrived = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&arrived);
    let server = Server::start(move |_| {
        counted.fetch_add(1, SeqCst);
        let deadline = Instant::now() + Duration::from_secs(10);
        while counted.load(SeqCst) < ALL && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
        if counted.load(SeqCst) < ALL { vec![Step::Close] } else { good() }
    });
    let done = fire(&server.url, &["--max-concurrency", "300"], &rows(ALL));
    let end = done.one("run_end");
    assert_eq!((&end["ok"], &end["client"]["peak_in_flight"]), (&ALL.into(), &ALL.into()), "{}", done.stderr);
}

#[test]
fn connections_are_reused() {
    let server = Server::start(|_| good());
    let done = fire(&server.url, &["--max-concurrency", "1"], &rows(5));
    let fresh = done.rows().iter().filter(|row| !row["connect_us"].is_null()).count();
    // The end of a body may come too late for the very next request.
    assert!(fresh <= 2, "{done:#?}");
    assert_eq!(done.one("run_end")["client"]["connections"], fresh);
}

#[test]
fn f39_a_dead_connection_costs_no_request() {
    let stage = Stage::scripted(|seen, late| match seen.nth {
        0 => played(&plain(completion(&WORDS)), late),
        _ => vec![Step::Close],
    });
    let done = fire(&stage.server.url, &["--max-concurrency", "1", "--save-text"], &rows(10));
    assert_eq!(done.one("run_end")["ok"], 10, "{done:#?}");
    // The clock of a request that is sent again starts again, and nothing else is forgotten.
    for row in done.rows() {
        stage.check(row);
        assert_eq!(row["text"], WORDS.concat(), "{row}");
    }
    let resent: Vec<_> = done.rows().into_iter().filter(|row| row["resent"] == true).collect();
    assert!(!resent.is_empty() && resent.iter().all(|row| !row["connect_us"].is_null()), "{done:#?}");

    let stage = Stage::scripted(|_, late| {
        let answer = played(&plain(completion(&WORDS)), late);
        [answer, vec![Step::Wait(50), Step::Close]].concat()
    });
    let done = fire(&stage.server.url, &["--request-rate", "5", "--burstiness", "inf"], &rows(10));
    assert_eq!(done.one("run_end")["ok"], 10, "{done:#?}");
    for row in done.rows() {
        stage.check(row);
    }
}

#[test]
fn a_fresh_connection_that_dies_is_a_failure() {
    let server = Server::start(|_| vec![Step::Close]);
    let done = fire(&server.url, &["--max-concurrency", "1"], &rows(2));
    assert_eq!((done.code, server.seen().len()), (Some(1), 2));
}

#[test]
fn f42_loopback_goes_direct() {
    let server = Server::start(|_| good());
    let mut command = command(&["--base-url", &server.url, "--quiet"]);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:9");
    }
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), rows(1).as_bytes()).unwrap();
    let done = finish(child);
    assert_eq!((done.code, done.complaints().as_str()), (Some(0), ""));
}

#[test]
fn f43_self_signed_certificates() {
    let issued =
        rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(issued.signing_key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let tls = move |socket: TcpStream| {
        Some(StreamOwned::new(ServerConnection::new(Arc::clone(&config)).ok()?, socket))
    };
    let server = Server::listen("https", |_| good(), tls);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cert.pem");
    std::fs::write(&file, issued.cert.pem()).unwrap();

    let unlisted = fire(&server.url, &[], &rows(1));
    assert_eq!((unlisted.code, unlisted.lines.len()), (Some(2), 0));
    assert!(unlisted.stderr.contains("invalid peer certificate"), "{}", unlisted.stderr);
    assert!(unlisted.stderr.contains("--insecure"), "{}", unlisted.stderr);
    let plain = fire(&server.url, &["--model", "m"], &rows(1));
    assert_eq!(plain.rows()[0]["outcome"], "connect");
    assert!(plain.stderr.contains("invalid peer certificate"), "{}", plain.stderr);
    assert!(plain.stderr.contains("--cacert"), "{}", plain.stderr);
    for trust in [&["--insecure"] as &[&str], &["--cacert", file.to_str().unwrap()]] {
        let done = fire(&server.url, &[trust, &["--max-concurrency", "1"]].concat(), &rows(3));
        assert_eq!(done.one("run_end")["ok"], 3, "{trust:?}: {done:#?}");
        assert!(done.rows().iter().any(|row| row["connect_us"].is_null()), "no reuse: {done:#?}");
        assert!(done.rows().iter().all(|row| (20.0..60.0).contains(&ms(row, "ttft_us"))), "{done:#?}");
    }
}

#[test]
fn f47_every_base_url_reaches_the_endpoint() {
    let server = Server::start(|_| good());
    for (base, path) in [
        ("", "/v1/completions"),
        ("/", "/v1/completions"),
        ("/v1", "/v1/completions"),
        ("/v1/", "/v1/completions"),
        ("/b/crlf", "/b/crlf/v1/completions"),
    ] {
        let done = fire(&format!("{}{base}", server.url), &[], &rows(1));
        assert_eq!(done.code, Some(0), "{base}: {done:#?}");
        assert_eq!(server.seen().last().unwrap().path, path);
        assert_eq!(done.one("run_start")["endpoint"], path);
    }
}

#[test]
fn secrets_are_sent_and_not_recorded() {
    let server = Server::start(|_| good());
    let url = server.url.replace("://", "://me:hunter2@");
    let done = fire(&url, &["--header", "X-Team=blue"], &rows(1));
    let head = &server.seen()[0].head;
    assert!(
        head.contains("authorization: basic bwu6ahvudgvymg==") && head.contains("x-team: blue"),
        "{head}"
    );
    assert!(!format!("{:?}", done.lines).contains("hunter2"));
    assert_eq!(done.one("run_start")["base_url"], server.url);
}

#[test]
fn nobody_listening() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let done = fire(&url, &[], &rows(1));
    assert_eq!((done.code, done.lines.len(), done.stderr.lines().count()), (Some(2), 0, 1));
    assert!(done.stderr.contains(&url), "{}", done.stderr);

    let done = fire(&url, &["--model", "m"], &rows(2));
    assert_eq!((done.code, done.rows().len()), (Some(1), 2));
    assert!(done.rows().iter().all(|row| row["outcome"] == "connect" && row["sent_us"].is_null()));
}
