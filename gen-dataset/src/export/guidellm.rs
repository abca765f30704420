//! guidellm's columns (`GenerativeColumnMapper` in `src/guidellm/data/preprocessors/mappers.py` of
//! vllm-project/guidellm), under the first of the names it looks for.

use records::Prompt;
use serde_json::{Map, Value};

use super::{Tally, Tool};

pub(super) fn row(row: &mut Prompt, output: u64) -> Result<Value, String> {
    let mut fields = Map::new();
    fields.insert("prompt".to_owned(), Tool::Guidellm.text(row)?.into());
    if let Some(tokens) = row.prompt_tokens {
        fields.insert("prompt_tokens_count".to_owned(), tokens.into());
    }
    fields.insert("output_tokens_count".to_owned(), output.into());
    Ok(Value::Object(fields))
}

/// Texts go to the completions endpoint as they are.
pub(super) fn command(tally: &Tally) -> String {
    format!(
        "guidellm run --backend kind=openai_http,target=URL,request_format=/v1/completions \
         --data kind=json_file,path=FILE.jsonl --data-loader kind=pytorch,shuffle=false \
         --constraint kind=max_requests,count={}",
        tally.rows
    )
}
