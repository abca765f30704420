//! Chat requests as `OpenAI`'s API takes them, which are sglang's `openai` rows
//! (`python/sglang/benchmark/datasets/openai_dataset.py` of sgl-project/sglang).

use records::Prompt;
use serde_json::{Map, Value};

use super::fields::Fields;

/// What our requests have a field or flags of their own for.
const OWN: [&str; 4] = ["max_completion_tokens", "model", "stream", "stream_options"];

/// Whether it is a request's body: messages, with parameters beside them.
pub(super) fn is_body(fields: &Fields) -> bool {
    fields.has_any(&["messages"])
        && !fields.has_any(&["extra_body"])
        && fields.names().any(Prompt::is_body_field)
}

/// Puts the parameters into `extra_body`.
pub(super) fn rename(fields: &mut Fields) {
    let moved = fields.names().filter(|name| Prompt::is_body_field(name) && !OWN.contains(name));
    let moved: Vec<String> = moved.map(str::to_owned).collect();
    let extra: Map<String, Value> =
        moved.into_iter().filter_map(|name| fields.take(&name).map(|value| (name, value))).collect();
    if !extra.is_empty() {
        fields.set("extra_body", Value::Object(extra));
    }
}
