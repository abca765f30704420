//! Tokenizers by model id: the hub's cache, and a hub on this machine.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use crate::{tokenizers::sentencepiece, tool::Tool};

const CONFIG: &str = r#"{"chat_template": "[{{ messages[0].content }}]"}"#;
const FLAGS: &str = "random --input-len 3 --num-prompts 2 --tokenizer";

/// A hub with the model `org/good`, which wants a token for `org/gated`. Its thread ends with the test process.
struct FakeHub {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakeHub {
    fn start(tokenizer: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(&mut stream.unwrap(), &tokenizer, &seen);
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(stream: &mut TcpStream, tokenizer: &str, seen: &Mutex<Vec<String>>) {
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap();
    let allowed = head.to_lowercase().contains("authorization: bearer secret");
    let (status, headers, body) = match path {
        "/org/good/resolve/main/tokenizer.json" => ("302 Found", "Location: /blob\r\n", ""),
        "/blob" => ("200 OK", "", tokenizer),
        "/org/good/resolve/main/tokenizer_config.json" => ("200 OK", "", CONFIG),
        "/org/gated/resolve/main/tokenizer.json" if allowed => ("200 OK", "", tokenizer),
        "/org/gated/resolve/main/tokenizer.json" => ("401 Unauthorized", "", "who are you"),
        "/org/forbidden/resolve/main/tokenizer.json" => ("403 Forbidden", "", ""),
        "/org/page/resolve/main/tokenizer.json" => ("200 OK", "", "<html>log in</html>"),
        _ => ("404 Not Found", "", "Entry not found"),
    };
    let length = body.len();
    let head_out =
        format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all((head_out + body).as_bytes()).unwrap();
    seen.lock().unwrap().push(head);
}

/// A tool whose hub is a fake one.
fn tool_and_hub() -> (Tool, FakeHub) {
    let mut tool = Tool::new();
    let tokenizer = fs::read_to_string(sentencepiece(&tool)).unwrap();
    let hub = FakeHub::start(tokenizer);
    tool.var("HF_ENDPOINT", &hub.url);
    (tool, hub)
}

#[test]
fn a_download_is_kept() {
    let (mut tool, hub) = tool_and_hub();
    let first = tool.run(&format!("{FLAGS} org/good"));
    assert_eq!((first.code, first.rows().len()), (Some(0), 2), "{}", first.err);
    assert!(first.err.contains(&format!("downloaded {}/org/good", hub.url)), "{}", first.err);
    let asked = hub.requests().len();
    assert_eq!(asked, 4, "the model's file, where it was redirected to, its configuration, and a template");

    tool.var("HF_HUB_OFFLINE", "1");
    let second = tool.run(&format!("{FLAGS} org/good"));
    assert_eq!((second.code, second.err.as_str()), (Some(0), ""));
    assert_eq!(second.out, first.out);
    let chat = tool.run_with("custom - --like vllm-0.33 --tokenizer org/good", "{\"prompt\":\"ka\"}\n");
    assert_eq!((chat.code, chat.rows()[0].prompt.as_deref()), (Some(0), Some("[ka]")), "{}", chat.err);
    assert_eq!(hub.requests().len(), asked);
}

#[test]
fn without_a_home_the_configuration_counts_too() {
    let (mut tool, _hub) = tool_and_hub();
    tool.var("HOME", "");
    let chat = tool.run_with("custom - --like vllm-0.33 --tokenizer org/good", "{\"prompt\":\"ka\"}\n");
    assert_eq!((chat.code, chat.rows()[0].prompt.as_deref()), (Some(0), Some("[ka]")), "{}", chat.err);
    assert!(chat.err.contains("not kept, since HOME is not set"), "{}", chat.err);
}

#[test]
fn the_token_is_sent() {
    let (mut tool, hub) = tool_and_hub();
    tool.run(&format!("{FLAGS} org/gated"))
        .refused("status 401 Unauthorized; there is no such model, or it needs a token: set HF_TOKEN");
    tool.var("HF_TOKEN", "wrong");
    tool.run(&format!("{FLAGS} org/gated")).refused("HF_TOKEN gives no access");
    tool.var("HF_TOKEN", "secret");
    assert_eq!(tool.rows(&format!("{FLAGS} org/gated")).len(), 2);
    assert_eq!(hub.requests().len(), 5);
}

#[test]
fn refusals_are_explained_and_nothing_is_kept() {
    let (tool, hub) = tool_and_hub();
    for (id, part) in [
        ("org/forbidden", "status 403 Forbidden; there is no such model, or it needs a token"),
        ("org/none", "status 404 Not Found; no such model, or it has no tokenizer.json"),
        ("org/page", "not a tokenizer.json"),
    ] {
        let ended = tool.run(&format!("{FLAGS} {id}"));
        ended.refused(part);
        ended.refused(&format!("{}/{id}/resolve/main/tokenizer.json", hub.url));
    }
    assert!(!tool.folder.path().join(".cache").exists());
}

#[test]
fn an_unreachable_hub_is_explained() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut tool = Tool::new();
    tool.var("HF_ENDPOINT", format!("http://{closed}"));
    let ended = tool.run(&format!("{FLAGS} org/good"));
    ended.refused("refused");
    ended.refused("name a tokenizer.json or a folder");
    tool.var("HF_ENDPOINT", "not a url");
    tool.run(&format!("{FLAGS} org/good")).refused("check HF_ENDPOINT");
}

#[test]
fn offline_says_what_is_missing() {
    let (mut tool, hub) = tool_and_hub();
    tool.var("HF_HUB_OFFLINE", "1");
    tool.run(&format!("{FLAGS} org/good")).refused("org/good is not in the cache");
    assert!(hub.requests().is_empty());
}

#[test]
fn loopback_takes_no_proxy() {
    let (mut tool, _hub) = tool_and_hub();
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        tool.var(name, "http://127.0.0.1:9");
    }
    assert_eq!(tool.rows(&format!("{FLAGS} org/good")).len(), 2);
}

/// Before any network: the cache that Hugging Face's own libraries fill.
#[test]
fn the_hubs_cache_comes_first() {
    for (variable, root) in
        [("HF_HUB_CACHE", "c"), ("HF_HOME", "h/hub"), ("UNRELATED", ".cache/huggingface/hub")]
    {
        let mut tool = Tool::new();
        let tokenizer = fs::read(sentencepiece(&tool)).unwrap();
        let model = format!("{root}/models--org--cached");
        tool.write(&format!("{model}/refs/main"), "abc123\n");
        tool.write(&format!("{model}/snapshots/abc123/tokenizer.json"), tokenizer);
        let value = tool.folder.path().join(root.split('/').next().unwrap()).display().to_string();
        tool.var(variable, value);
        tool.var("HF_ENDPOINT", "http://127.0.0.1:9");
        assert_eq!(tool.rows(&format!("{FLAGS} org/cached")).len(), 2, "{variable}");
    }
}

#[test]
fn files_and_folders_are_read() {
    let tool = Tool::new();
    let file = sentencepiece(&tool);
    let text = fs::read_to_string(&file).unwrap();
    tool.write("model/tokenizer.json", &text);
    let by_file = tool.run(&format!("{FLAGS} {file}")).out;
    let by_folder = tool.run(&format!("{FLAGS} model")).out;
    assert!(!by_file.is_empty() && by_file == by_folder);
    tool.write("empty/config.json", "{}");
    tool.run(&format!("{FLAGS} empty")).refused("the folder empty has no tokenizer.json");
    tool.run(&format!("{FLAGS} missing/tokenizer.json")).refused("missing/tokenizer.json is neither a file");
    tool.run(&format!("{FLAGS} model/tokenizer.json/x")).refused("is neither a file");
    tool.write("torn.json", &text[..500]);
    tool.run(&format!("{FLAGS} torn.json")).refused("torn.json: not a tokenizer.json");
}
