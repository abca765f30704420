//! vLLM's custom dataset (`CustomDataset` in `vllm/benchmarks/datasets/datasets.py`, version 0.33.0).

use records::Prompt;
use serde_json::{Value, json};

use super::{Tally, Tool};

pub(super) fn row(row: &mut Prompt, output: u64) -> Result<Value, String> {
    Ok(json!({"prompt": Tool::Vllm.text(row)?, "output_tokens": output}))
}

/// It shuffles and puts prompts into the chat template unless told not to, and reads files by the name `.jsonl` only.
pub(super) fn command(tally: &Tally) -> String {
    format!(
        "vllm bench serve --dataset-name custom --dataset-path FILE.jsonl --custom-output-len -1 \
         --skip-chat-template --disable-shuffle --num-prompts {}",
        tally.rows
    )
}
