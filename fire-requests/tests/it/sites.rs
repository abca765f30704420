//! Several servers, and servers on Unix sockets.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixListener,
    thread,
};

use crate::{
    server::{Server, good},
    tool::{command, finish, fire, rows},
};

#[test]
fn requests_go_to_the_servers_in_turn() {
    let [one, two] = [(); 2].map(|()| Server::start(|_| good()));
    let done = fire(&one.url, &["--base-url", &two.url, "--max-concurrency", "2"], &rows(6));
    assert_eq!((done.code, one.seen().len(), two.seen().len()), (Some(0), 3, 3), "{done:#?}");
    assert_eq!(done.one("run_start")["base_urls"], serde_json::json!([one.url, two.url]));
    let mut urls: Vec<(u64, &str)> = done
        .rows()
        .iter()
        .map(|row| (row["id"].as_str().unwrap().parse().unwrap(), row["base_url"].as_str().unwrap()))
        .collect();
    urls.sort_unstable();
    assert!(urls.iter().all(|(id, url)| *url == if id % 2 == 0 { &one.url } else { &two.url }), "{urls:?}");
}

#[test]
fn a_name_that_no_server_lists_needs_a_word() {
    let server = Server::start(|_| good());
    let done = fire(&server.url, &["--model", "lora"], &rows(1));
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("--no-model-check"), "{}", done.stderr);
    let done = fire(&server.url, &["--model", "lora", "--no-model-check"], &rows(1));
    assert_eq!((done.code, &server.seen()[0].body["model"]), (Some(0), &"lora".into()));
}

/// Answers `count` requests, one a connection.
fn listen(listener: UnixListener, count: usize) {
    thread::spawn(move || {
        for socket in listener.incoming().take(count) {
            let mut socket = BufReader::new(socket.unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                socket.read_line(&mut head).unwrap();
            }
            let head = head.to_ascii_lowercase();
            let length = head
                .split("content-length: ")
                .nth(1)
                .map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
            socket.read_exact(&mut vec![0; length]).unwrap();
            let body = if head.starts_with("get ") {
                r#"{"data":[{"id":"m"}]}"#.to_owned()
            } else {
                "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
                    .to_owned()
            };
            let kind = if head.starts_with("get ") { "application/json" } else { "text/event-stream" };
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            socket.get_mut().write_all((head + &body).as_bytes()).unwrap();
        }
    });
}

#[test]
fn a_unix_socket_is_a_server_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.sock");
    listen(UnixListener::bind(&path).unwrap(), 8);
    let url = format!("unix:{}", path.display());
    let mut child = command(&["--base-url", &url, "--max-concurrency", "1"]).spawn().unwrap();
    child.stdin.take().unwrap().write_all(rows(3).as_bytes()).unwrap();
    let done = finish(child);
    assert_eq!((done.code, done.rows().len()), (Some(0), 3), "{done:#?}");
    assert_eq!(done.one("run_start")["base_url"], url);
    assert!(done.rows().iter().all(|row| row["events"] == "cd" && row["base_url"].is_null()), "{done:#?}");
}
