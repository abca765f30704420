//! sglang's `openai` dataset (`python/sglang/benchmark/datasets/openai_dataset.py` of sgl-project/sglang). Its `custom`
//! dataset would shuffle the rows, and states output lengths only as texts.

use records::Prompt;
use serde_json::{Map, Value, json};

use super::Tally;

/// Fields that it does not pass on from a row into the request.
const NOT_PASSED: [&str; 4] = ["messages", "max_tokens", "max_completion_tokens", "model"];

/// All other fields of a row become fields of the request: so there is no place for an id.
pub(super) fn row(row: &mut Prompt, output: u64) -> Result<Value, String> {
    let text = row.prompt.take();
    let messages = row.messages.take().unwrap_or_else(|| vec![json!({"role": "user", "content": text})]);
    let mut fields = Map::new();
    fields.insert("messages".to_owned(), Value::Array(messages));
    fields.insert("max_tokens".to_owned(), output.into());
    for (name, value) in row.extra_body.take().unwrap_or_default() {
        if NOT_PASSED.contains(&name.as_str()) {
            return Err(format!("`extra_body` sets `{name}`, which sglang passes over; leave it out"));
        }
        fields.insert(name, value);
    }
    Ok(Value::Object(fields))
}

/// Rows are chats, so the backend must be one.
pub(super) fn command(tally: &Tally) -> String {
    format!(
        "python -m sglang.bench_serving --backend sglang-oai-chat --dataset-name openai --dataset-path FILE.jsonl \
         --num-prompts {}",
        tally.rows
    )
}
