//! aiperf's `mooncake_trace` (`MooncakeTrace` in `src/aiperf/dataset/loader/models.py` of ai-dynamo/aiperf), which has a
//! place for texts as for messages, for output lengths, times and further fields of the request.

use records::Prompt;
use serde_json::{Map, Value, json};

use super::Tally;

pub(super) fn row(row: &mut Prompt, output: u64) -> Value {
    let mut fields = Map::new();
    fields.insert("type".to_owned(), "mooncake_trace".into());
    if let Some(at) = row.at_us.take() {
        fields.insert("timestamp".to_owned(), json!(at.ms()));
    }
    if let Some(text) = row.prompt.take() {
        fields.insert("text_input".to_owned(), text.into());
    }
    if let Some(messages) = row.messages.take() {
        fields.insert("messages".to_owned(), messages.into());
    }
    fields.insert("output_length".to_owned(), output.into());
    if let Some(extra) = row.extra_body.take() {
        fields.insert("extra".to_owned(), extra.into());
    }
    Value::Object(fields)
}

/// Times are kept only by its fixed schedule, which would move the first to 0 unless it is told where to start.
pub(super) fn command(tally: &Tally) -> String {
    let order = if tally.timed > 0 {
        "--fixed-schedule --fixed-schedule-start-offset 0"
    } else {
        "--dataset-sampling-strategy sequential"
    };
    format!(
        "aiperf profile --input-file FILE.jsonl --custom-dataset-type mooncake_trace --endpoint-type {} {order} \
         --request-count {}",
        if tally.chats > 0 { "chat" } else { "completions" },
        tally.rows
    )
}
