//! The command line.

use std::{
    num::{NonZeroU32, NonZeroU64, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

use clap::{Parser, builder::PossibleValuesParser, builder::TypedValueParser};
use http::header::{CONTENT_LENGTH, HeaderName, HeaderValue, TRANSFER_ENCODING};
use jiff::Timestamp;
use records::Rate;

use crate::{
    api::{self, Api},
    like::Like,
    load::Strategy,
    sampling::Sampling,
    shard::Shard,
};

const EXAMPLES: &str = "\
Rows: one JSON object a line with `prompt` or `messages`, and optionally `id`, `workload`, `max_tokens`, \
`prompt_tokens`, `at_us` (send at this instant of the run, in place of the arrival process) and `extra_body`. \
Rows are read as they are needed (before the first is sent, where a ramp or --like must know their number), and each timing row is written as its request ends.

A request succeeds if the status is 2xx, no error event came, and the answer ended: a finish reason or [DONE] \
was seen, or what the API has in their place. An answer of 0 tokens succeeds if the server's usage says so. Nothing is retried, except that a request \
whose reused connection is found dead before any byte of an answer is sent once more (`resent`).

Requests go to the server directly; HTTP_PROXY and its kin are not used. The key is read from OPENAI_API_KEY \
(anthropic: ANTHROPIC_API_KEY before that; it is sent as x-api-key).

--like: the bodies are those of `vllm bench serve`, byte for byte, and so are the request ids; rows must state \
`max_tokens`, as it always sends one. Flags and `extra_body` are laid over them as it does, null included; a row's \
`ignore_eos` stands where its flag would. With --request-rate or a ramp, requests are due at the instants that it \
draws from --seed, which must be that of gen-dataset where that has drawn from the same generator (its rows state \
`numpy_words`). All rows are read before the first is sent. Version 0.11 sends the first prompt once before the run \
(its ready check): give --num-warmups 1 for that.

Exit: 0 if a request succeeded, 1 if none did, 2 for unusable arguments, input, output or server. The first Ctrl-C \
(or TERM) stops sending and waits up to --grace for what is in flight, the second does not wait; then the tool dies \
by that signal.

Examples:
  echo '{\"prompt\":\"Once upon a time\",\"max_tokens\":32}' | fire-requests --port 8000
  fire-requests prompts.jsonl --backend openai-chat --max-concurrency 16 --output run.jsonl
  fire-requests prompts.jsonl --backend sglang --port 30000 --no-stream --save-text | jq -r .text
  fire-requests prompts.jsonl --request-rate 4 --label engine=vllm | summarize
  fire-requests prompts.jsonl --like vllm-0.33 --request-rate 4 --seed 1 | summarize
  fire-requests prompts.jsonl --ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 20 | summarize";

/// Fire prompts at an LLM server and write the timing of each request as a JSON line
///
/// With --max-concurrency alone, a closed loop: each request that ends makes room for the next. With --request-rate
/// or a ramp, an open loop: requests are due at times drawn beforehand. With both, the cap delays requests but drops none, and
/// the delay shows in the rows (`scheduled_us` against `sent_us`).
#[derive(Parser)]
#[command(version, after_help = EXAMPLES, max_term_width = 110)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Args {
    /// Rows to send; `-` or none: standard input
    pub file: Option<PathBuf>,

    /// Measure this client instead: a null load of some seconds against a server in this process, whose times are known.
    /// Writes a `calibration` line a case; exits 1 if the client could not keep up
    #[arg(long, conflicts_with_all = ["file", "base_url", "model", "like", "pace", "max_concurrency", "resume", "duration"])]
    pub calibrate: bool,
    /// Send what another client would, and when it would; the end of this page has the details
    #[arg(long, value_name = "CLIENT", conflicts_with = "length_field")]
    pub like: Option<Like>,
    /// API to speak, by vLLM's names where it has one. Those that complete a text (openai, sglang, tgi, llamacpp) need
    /// rows with `prompt`; a flag for which the API has no field is refused
    #[arg(long, default_value = "openai", value_parser = PossibleValuesParser::new(api::names()).map(|name| api::named(&name)))]
    pub backend: &'static dyn Api,
    /// Where the server listens, or `unix:/path/of/socket`; a path before /v1 is kept. Repeatable: requests go to the
    /// servers in turn. Default: http://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub base_url: Vec<String>,
    /// Host, if there is no --base-url
    #[arg(long, default_value = "127.0.0.1", conflicts_with = "base_url")]
    pub host: String,
    /// Port, if there is no --base-url
    #[arg(long, default_value_t = 8000, conflicts_with = "base_url")]
    pub port: u16,
    /// Path of the endpoint. Default: that of --backend
    #[arg(long, value_name = "PATH")]
    pub endpoint: Option<String>,
    /// Model to ask for. Default: the first that the server lists (sglang and tgi serve one, and are not told)
    #[arg(long)]
    pub model: Option<String>,
    /// Ask for --model whatever the server lists: adapters and routers know names that they do not list
    #[arg(long, requires = "model")]
    pub no_model_check: bool,
    /// Header to add to each request (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = header)]
    pub header: Vec<(HeaderName, HeaderValue)>,
    /// Send each request's `x-request-id`: PREFIX and the row's id. Default: none; with --like, that client's
    #[arg(long, value_name = "PREFIX")]
    pub request_id_prefix: Option<String>,
    /// Accept any TLS certificate
    #[arg(long)]
    pub insecure: bool,
    /// PEM file of certificates to trust besides the system's: authorities, or the server's own
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,

    /// Requests per second; inf: no schedule
    #[arg(long, default_value = "inf", value_name = "RATE", allow_negative_numbers = true, group = "pace")]
    pub request_rate: Rate,
    /// Shape of the gaps between arrivals: 1 Poisson, below 1 burstier, above 1 steadier, inf evenly spaced
    #[arg(
        long,
        default_value = "1.0",
        value_name = "SHAPE",
        allow_negative_numbers = true,
        requires = "pace"
    )]
    pub burstiness: Rate,
    /// Raise the rate from the first request to the last, in place of --request-rate. All rows are read before the
    /// first is sent: how fast the rate rises depends on their number
    #[arg(long, value_name = "STRATEGY", group = "pace", requires_all = ["ramp_up_start_rps", "ramp_up_end_rps"])]
    pub ramp_up_strategy: Option<Strategy>,
    /// Requests per second at the first request
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, requires = "ramp_up_strategy")]
    pub ramp_up_start_rps: Option<Rate>,
    /// Requests per second at the last request
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, requires = "ramp_up_strategy")]
    pub ramp_up_end_rps: Option<Rate>,
    /// Follow the rate in this file over time, in place of --request-rate. Lines: `SECONDS RATE`, `SECONDS FROM TO` (evenly
    /// from one rate to the other) or `SECONDS sine MEAN AMPLITUDE PERIOD`; `#` begins a comment. After the last line
    /// nothing more is sent
    #[arg(long, value_name = "FILE", group = "pace", conflicts_with = "like")]
    pub schedule: Option<PathBuf>,
    /// Multiply each row's `at_us` by this: 0.5 replays a trace in half its time
    #[arg(long, value_name = "FACTOR", value_parser = some_factor)]
    pub time_scale: Option<f64>,
    /// Send every N-th row only, from the I-th on: N machines fire one dataset together, at the times of one. Each reads
    /// all rows; --max-concurrency is each one's own
    #[arg(long, value_name = "I/N", requires = "start_at")]
    pub shard: Option<Shard>,
    /// Begin at this instant (RFC 3339, or seconds since 1970): time 0 of the schedule on every machine
    #[arg(long, value_name = "TIME", value_parser = instant)]
    pub start_at: Option<Timestamp>,
    /// Most requests in flight at once. Default: no limit
    #[arg(long, value_name = "N")]
    pub max_concurrency: Option<NonZeroU32>,
    /// Seed of the arrival times
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Times to send the first row before the run, to warm the server; rows of phase `warmup`
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub num_warmups: u32,
    /// Rows at the run's beginning that warm the server: phase `warmup`, not measured, nothing waited for after them
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub warmup_requests: u64,
    /// The same, in seconds: what is scheduled before this time of the run
    #[arg(long, default_value = "0", value_name = "SECS", value_parser = seconds)]
    pub warmup_duration: Duration,
    /// Seconds between an answer and the next turn of its conversation (rows with `session`)
    #[arg(long, default_value = "0", value_name = "SECS", value_parser = seconds)]
    pub think_time: Duration,
    /// Seconds to wait for /v1/models to answer before the run; 0: do not wait (without --model, a port where nobody
    /// listens yet is given 2 s all the same)
    #[arg(long, default_value = "0", value_name = "SECS", value_parser = seconds)]
    pub ready_check_timeout_sec: Duration,
    /// Seconds until a request is given up, its connection included. Default: never
    #[arg(long, value_name = "SECS", value_parser = some_seconds)]
    pub request_timeout: Option<Duration>,
    /// Seconds of silence, from the request's last byte or the answer's last one so far, until a request is given up.
    /// Default: never
    #[arg(long, value_name = "SECS", value_parser = some_seconds)]
    pub idle_timeout: Option<Duration>,
    /// Threads that send and receive. Default: one a core, up to 8
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Seconds after which nothing more is sent; what is in flight may finish
    #[arg(long, value_name = "SECS", value_parser = some_seconds)]
    pub duration: Option<Duration>,
    /// Stop sending when so many requests have failed, and exit 1
    #[arg(long, value_name = "N")]
    pub max_failures: Option<NonZeroU64>,
    /// Leave out the rows that have an answer in this file, which a run before has written; with --output of the same
    /// name, go on writing it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["overwrite", "shard"])]
    pub resume: Option<PathBuf>,
    /// Seconds to wait for requests in flight after the first Ctrl-C
    #[arg(long, default_value = "30", value_name = "SECS", value_parser = seconds)]
    pub grace: Duration,

    /// Keep what was generated in the rows: `text`, and `reasoning_text` where there was thinking
    #[arg(long)]
    pub save_text: bool,

    #[command(flatten)]
    /// What is laid over each request.
    pub sampling: Sampling,

    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace --output if it exists
    #[arg(long, requires = "output")]
    pub overwrite: bool,
    /// Name of the run. Default: made from the time it starts
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    /// Label of the run, kept in its first line (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
    /// No progress line and no closing line
    #[arg(long, short)]
    pub quiet: bool,
    /// No warnings either: whoever asked reads the records.
    #[arg(skip)]
    pub silent: bool,
}

fn some_factor(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    if factor > 0.0 && factor.is_finite() { Ok(factor) } else { Err("must be above 0".to_owned()) }
}

fn instant(text: &str) -> Result<Timestamp, String> {
    let of_seconds = |seconds: f64| Timestamp::from_microsecond((seconds * 1e6).round() as i64).ok();
    let time = text.parse::<f64>().ok().map_or_else(|| text.parse().ok(), of_seconds);
    time.ok_or_else(|| "expected a time like 2026-12-01T12:00:00Z, or seconds since 1970".to_owned())
}

fn pair(text: &str) -> Result<(&str, &str), String> {
    text.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| "expected KEY=VALUE".to_owned())
}

fn label(text: &str) -> Result<(String, String), String> {
    pair(text).map(|(key, value)| (key.to_owned(), value.to_owned()))
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (key, value) = pair(text)?;
    let name: HeaderName = key.trim().parse().map_err(|_| format!("'{key}' is no header name"))?;
    let value = value.trim().parse().map_err(|_| format!("the value of {key} is no header value"))?;
    if [CONTENT_LENGTH, TRANSFER_ENCODING].contains(&name) {
        return Err(format!("{key} says how long the body is, which is not yours to say; leave it out"));
    }
    Ok((name, value))
}

/// A clock's instant that far ahead can still be told.
const TEN_YEARS: Duration = Duration::from_secs(10 * 365 * 86_400);

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("'{text}' is not a number of seconds"))?;
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| *time <= TEN_YEARS);
    time.ok_or_else(|| format!("must be seconds from 0 to those of ten years, not {text}"))
}

fn some_seconds(text: &str) -> Result<Duration, String> {
    seconds(text).and_then(|time| if time.is_zero() { Err("must be above 0".to_owned()) } else { Ok(time) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Args, String> {
        Args::try_parse_from(["fire-requests"].iter().chain(args)).map_err(|error| error.to_string())
    }

    #[test]
    fn rates_must_be_above_zero() {
        for rate in ["0", "-1", "nan", "fast"] {
            assert!(parse(&["--request-rate", rate]).is_err(), "{rate}");
        }
        assert!(parse(&["--request-rate", "inf", "--burstiness", "inf"]).is_ok());
        let ramp = ["--ramp-up-strategy", "linear", "--ramp-up-start-rps", "0", "--ramp-up-end-rps", "5"];
        assert!(parse(&ramp).err().unwrap().contains("--ramp-up-start-rps <RATE>': must be above 0"));
    }

    #[test]
    fn defaults_are_those_of_vllm() {
        let args = parse(&[]).unwrap();
        assert_eq!(args.backend.name(), "openai");
        assert_eq!((args.host.as_str(), args.port), ("127.0.0.1", 8000));
        assert!(args.request_rate.get().is_infinite());
        assert!((args.burstiness.get() - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        for args in [
            &["--extra-body", "[1]"] as &[&str],
            &["--label", "engine"],
            &["--header", "a b=c"],
            &["--header", "Content-Length=5"],
            &["--think-time", "1e19"],
            &["--resume", "x", "--output", "x", "--overwrite"],
            &["--grace", "-1"],
            &["--request-timeout", "0"],
            &["--max-concurrency", "0"],
            &["--temperature", "nan"],
            &["--top-p", "inf"],
            &["--overwrite"],
            &["--base-url", "http://x", "--port", "1"],
            &["--num-prompts", "10"],
            &["--burstiness", "2"],
            &["--ramp-up-strategy", "linear"],
            &["--ramp-up-strategy", "linear", "--ramp-up-start-rps", "1"],
            &["--ramp-up-start-rps", "1", "--ramp-up-end-rps", "2"],
            &["--ramp-up-strategy", "steep", "--ramp-up-start-rps", "1", "--ramp-up-end-rps", "2"],
            &[
                "--ramp-up-strategy",
                "linear",
                "--ramp-up-start-rps",
                "1",
                "--ramp-up-end-rps",
                "2",
                "--request-rate",
                "3",
            ],
            &["--like", "vllm"],
            &["--like", "vllm-0.33", "--no-stream"],
            &["--like", "vllm-0.33", "--length-field", "max_tokens"],
        ] {
            assert!(parse(args).is_err(), "{args:?}");
        }
    }
}
