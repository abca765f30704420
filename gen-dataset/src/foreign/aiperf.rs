//! aiperf's `single_turn` and `mooncake_trace` rows (`SingleTurn` and `MooncakeTrace` in
//! `src/aiperf/dataset/loader/models.py` of ai-dynamo/aiperf).

use records::Micros;
use serde_json::{Value, json};

use super::fields::Fields;

/// Fields that tell its rows.
pub(super) const KEYS: [&str; 8] =
    ["text", "texts", "text_input", "turns", "payload", "input_length", "output_length", "hash_ids"];

const MEDIA: &str = "write the request as `messages`, which hold images, audio and video as parts";
const REFUSED: [(&str, &str); 11] = [
    ("turns", "a conversation in one row; write a row with `messages` for each request"),
    ("payload", "give its `prompt` or `messages`, and the rest as `extra_body`"),
    ("texts", "a batch in one request; write a row for each text"),
    ("image", MEDIA),
    ("images", MEDIA),
    ("image_uuids", MEDIA),
    ("audio", MEDIA),
    ("audios", MEDIA),
    ("video", MEDIA),
    ("videos", MEDIA),
    ("delay", "rows are sent by their `timestamp`, not after one another; leave it out"),
];

/// What changes a request and has no place in ours.
pub(super) fn refuse(fields: &Fields) -> Result<(), String> {
    fields.refuse(&REFUSED)?;
    for length in ["input_length", "hash_ids"] {
        if fields.has_any(&[length]) {
            let text = super::SOURCES.into_iter().find(|name| fields.has_any(&[name]));
            return Err(match text {
                Some(text) => format!("both `{text}` and `{length}`; leave one of them out"),
                None => "lengths without a text; `gen-dataset trace` makes prompts of them".to_owned(),
            });
        }
    }
    for (name, plain) in [("role", "user"), ("message_mode", "history")] {
        if let Some(value) = fields.get(name)
            && value != plain
        {
            return Err(format!("`{name}` is {value}; write the request as `messages`, complete"));
        }
    }
    Ok(())
}

/// Gives the fields our names; rows that share a session would share an id, and are refused for that.
pub(super) fn rename(fields: &mut Fields) -> Result<(), String> {
    fields.rename(&["timestamp"], "at_us", micros, "a number of milliseconds")?;
    fields.text(&["session_id"], "id")?;
    fields.rename(&["extra"], "extra_body", |value| value.is_object().then(|| value.clone()), "an object")
}

/// Rounded to nanoseconds: what is finer comes of the fraction's binary form.
fn micros(ms: &Value) -> Option<Value> {
    ms.as_f64().map(|ms| json!(Micros::new((ms * 1e6).round() / 1e3)))
}
