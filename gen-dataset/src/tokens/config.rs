//! What a model's `tokenizer_config.json` adds to its `tokenizer.json`.

use std::{fs, io::ErrorKind, path::Path};

use records::{Error, Result};
use serde_json::{Map, Value};

/// Fields that name a special token.
const ROLES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];
/// Classes of Hugging Face's `transformers` that, before version 5, put BOS and EOS around a text by flags of their own,
/// whatever the post-processor in `tokenizer.json` says.
const OWN_TEMPLATE: [&str; 4] =
    ["LlamaTokenizer", "LlamaTokenizerFast", "GemmaTokenizer", "GemmaTokenizerFast"];

/// The fields of a `tokenizer_config.json` that are used here.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Config {
    /// Whether decoded text loses its spaces before punctuation (in `transformers` before 5, or where the model is not
    /// BPE).
    pub(super) clean_up: bool,
    /// Tokens that have a role, and those listed as further special ones.
    pub(super) special: Vec<String>,
    /// Special tokens around one text, where that was not the post-processor's business before `transformers` 5.
    pub(super) old_special_count: Option<u64>,
    /// The chat template, in Jinja.
    pub(super) template: Option<String>,
    /// The tokens that templates may name.
    pub(super) roles: Map<String, Value>,
}

impl Config {
    /// Reads a file, calling it `what` in errors. A chat `template` in a file of its own comes before one in here.
    pub(crate) fn new(what: &str, json: &[u8], template: Option<&[u8]>) -> Result<Self> {
        let config = Self::from_json(what, json)?;
        let template = template.map(|text| String::from_utf8_lossy(text).into_owned());
        Ok(Self { template: template.or(config.template), ..config })
    }

    fn from_json(what: &str, json: &[u8]) -> Result<Self> {
        let fields: Map<String, Value> = serde_json::from_slice(json)
            .map_err(|error| Error::usage(format!("{what}: not a tokenizer_config.json: {error}")))?;
        let roles: Map<String, Value> = ROLES
            .iter()
            .filter_map(|role| Some(((*role).to_owned(), content(fields.get(*role)?)?.into())))
            .collect();
        let more = fields.get("additional_special_tokens").and_then(Value::as_array).into_iter().flatten();
        let class = fields.get("tokenizer_class").and_then(Value::as_str).unwrap_or_default();
        // A default of that class since `transformers` 5, which files leave out.
        let mask = class.starts_with("Gemma").then_some("<mask>");
        let special = roles.values().chain(more).filter_map(content).chain(mask).map(str::to_owned).collect();
        let flag = |name: &str, default: bool| fields.get(name).and_then(Value::as_bool).unwrap_or(default);
        let own = u64::from(flag("add_bos_token", true)) + u64::from(flag("add_eos_token", false));
        Ok(Self {
            clean_up: flag("clean_up_tokenization_spaces", false),
            special,
            old_special_count: OWN_TEMPLATE.contains(&class).then_some(own),
            template: fields.get("chat_template").and_then(default_template).map(str::to_owned),
            roles,
        })
    }

    /// Reads the files that lie beside a `tokenizer.json`.
    pub(crate) fn beside(tokenizer: &Path) -> Result<Option<Self>> {
        let file = tokenizer.with_file_name("tokenizer_config.json");
        let Some(json) = read(&file)? else { return Ok(None) };
        let template = read(&tokenizer.with_file_name("chat_template.jinja"))?;
        Self::new(&file.display().to_string(), &json, template.as_deref()).map(Some)
    }
}

fn read(file: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::read(file.display().to_string(), error)),
    }
}

/// A token is written as its text, or as an object with it.
fn content(token: &Value) -> Option<&str> {
    token.as_str().or_else(|| token.get("content")?.as_str())
}

/// One template, or the one called `default` of several.
fn default_template(field: &Value) -> Option<&str> {
    field.as_str().or_else(|| {
        let named = field.as_array()?.iter().find(|template| template["name"] == "default")?;
        named["template"].as_str()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_written_in_two_ways_and_templates_in_two() {
        let json =
            br#"{"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>", "unk_token": null,
            "additional_special_tokens": ["<x>"], "clean_up_tokenization_spaces": true,
            "chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}],
            "tokenizer_class": "LlamaTokenizerFast"}"#;
        let config = Config::from_json("f", json).unwrap();
        assert_eq!(config.special, ["<s>", "</s>", "<x>"]);
        assert_eq!((config.clean_up, config.old_special_count), (true, Some(1)));
        assert_eq!(config.template.as_deref(), Some("d"));
        assert_eq!(config.roles["bos_token"], "<s>");
        assert_eq!(Config::from_json("f", b"{}").unwrap(), Config::default());
        assert!(
            Config::from_json("f", b"[")
                .unwrap_err()
                .to_string()
                .starts_with("f: not a tokenizer_config.json")
        );
    }
}
