//! From a tokenizer's name to the tokenizer.

use std::{env, fs, path::Path};

use records::{Error, Result};

use crate::{Tokens, hub::Hub, tokens::Config};

/// Name of the embedded tokenizer.
const QWEN3: &str = "qwen3";
/// Its `tokenizer.json`; see `assets/README.md` for the origin.
pub(crate) static QWEN3_JSON: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/qwen3-tokenizer.json"));

/// Its `tokenizer_config.json`.
static QWEN3_CONFIG: &[u8] = include_bytes!("../assets/qwen3-tokenizer_config.json");

/// The built-in of that name, else the file or folder, else the Hugging Face model.
pub(crate) fn load(name: &str) -> Result<Tokens> {
    let path = Path::new(name);
    if name == QWEN3 {
        let mut tokens = Tokens::from_json("embedded tokenizer", QWEN3_JSON)?;
        let config = Config::new("embedded configuration", QWEN3_CONFIG, None)?;
        tokens.configure(config);
        Ok(tokens)
    } else if path.is_dir() {
        let file = path.join("tokenizer.json");
        if !file.is_file() {
            return Err(Error::usage(format!(
                "--tokenizer: the folder {name} has no tokenizer.json; name one that has, or a model id"
            )));
        }
        from_file(&file)
    } else if path.exists() {
        from_file(path)
    } else if is_model_id(name) {
        Hub::from_env(|name| env::var(name).ok()).load(name)
    } else {
        Err(Error::usage(format!(
            "--tokenizer: {name} is neither a file, a folder nor a model id; known by name: {QWEN3}"
        )))
    }
}

/// Reads a `tokenizer.json` and, where that is its name, the configuration beside it.
pub(crate) fn from_file(path: &Path) -> Result<Tokens> {
    let what = path.display().to_string();
    let json = fs::read(path).map_err(|source| Error::read(&what, source))?;
    let mut tokens = Tokens::from_json(&what, &json)?;
    if path.file_name().is_some_and(|name| name == "tokenizer.json")
        && let Some(config) = Config::beside(path)?
    {
        tokens.configure(config);
    }
    Ok(tokens)
}

/// `ORG/NAME`, or `NAME` alone as the oldest models have it. A path to a file that is not there is no model id.
fn is_model_id(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    let is_json = Path::new(name).extension().is_some_and(|extension| extension == "json");
    !is_json && name.split('/').count() <= 2 && name.split('/').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_ids_are_told_from_paths() {
        for id in ["Qwen/Qwen3-32B", "gpt2", "meta-llama/Llama-3.1-8B"] {
            assert!(is_model_id(id), "{id}");
        }
        for path in ["", "/", "./x", "../x/y", "a/b/c", "x/tokenizer.json", "/tmp/x", "a b", "a//b", "~/x"] {
            assert!(!is_model_id(path), "{path}");
        }
    }

    #[test]
    fn the_embedded_tokenizer_is_qwen3s() {
        let tokens = load(QWEN3).unwrap();
        assert_eq!(tokens.base_ids().len(), 151_643);
        assert_eq!(tokens.encode("Hello, world!").unwrap(), [9707, 11, 1879, 0]);
        assert!(tokens.is_added(151_643));
        assert_eq!(tokens.special_count(), 0);
    }

    #[test]
    fn what_is_not_there_is_said() {
        let missing = load("no/such/tokenizer.json").err().unwrap().to_string();
        assert!(missing.contains("no/such/tokenizer.json is neither a file"), "{missing}");
        let folder = tempfile::tempdir().unwrap();
        let bare = load(folder.path().to_str().unwrap()).err().unwrap().to_string();
        assert!(bare.contains("has no tokenizer.json"), "{bare}");
    }
}
