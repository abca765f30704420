//! The part of the command line that goes into each request's body.

use clap::ArgAction;
use serde_json::{Map, Value};

/// Fields of the request's body that are the same for every row.
#[derive(clap::Args)]
#[command(next_help_heading = "Request body")]
pub struct Sampling {
    /// Ask for whole answers in place of streams. Rows then have no TTFT; their `e2e_us` is when the answer was complete
    #[arg(long, conflicts_with = "like")]
    pub no_stream: bool,
    /// Have the server generate past the end-of-sequence token, up to `max_tokens`
    #[arg(long)]
    pub ignore_eos: bool,
    /// Sampling temperature. Default: the server's, like all that follow
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = finite)]
    pub temperature: Option<f64>,
    /// Nucleus sampling: probability mass to keep
    #[arg(long, value_name = "P", value_parser = finite)]
    pub top_p: Option<f64>,
    /// Number of most likely tokens to sample from
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub top_k: Option<i64>,
    /// Least probability, relative to that of the likeliest token
    #[arg(long, value_name = "P", value_parser = finite)]
    pub min_p: Option<f64>,
    /// Penalty by how often a token has been generated
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = finite)]
    pub frequency_penalty: Option<f64>,
    /// Penalty for tokens already generated
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = finite)]
    pub presence_penalty: Option<f64>,
    /// Factor against tokens already seen; 1: none
    #[arg(long, value_name = "X", value_parser = finite)]
    pub repetition_penalty: Option<f64>,
    /// Field that carries a row's `max_tokens`. Default, as vLLM's client: `max_tokens` for completions,
    /// `max_completion_tokens` for chat (which some servers ignore: their answers come out longer than asked). For
    /// these two alone: other APIs have one field
    #[arg(long, value_name = "FIELD", value_parser = ["max_tokens", "max_completion_tokens"])]
    pub length_field: Option<String>,
    /// Fields laid over each body, after all flags; null removes a field. A row's own `extra_body` comes last. Fields
    /// of `sampling_params` (sglang), `parameters` (tgi) and `options` (ollama) are laid over one by one
    #[arg(long, value_name = "JSON", value_parser = object, action = ArgAction::Set)]
    pub extra_body: Option<ExtraBody>,
}

/// The value of `--extra-body`.
pub type ExtraBody = Map<String, Value>;

/// JSON has no infinity and no NaN: they would be sent as null.
fn finite(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
    if number.is_finite() { Ok(number) } else { Err(format!("must be finite, not {text}")) }
}

fn object(text: &str) -> Result<ExtraBody, String> {
    serde_json::from_str(text).map_err(|error| format!("not a JSON object: {error}"))
}
