//! Rows in the formats of other tools, told by their fields and read as our own.
//!
//! vLLM's custom rows (`prompt`, `output_tokens`) need nothing of this: [`Prompt`] has those names itself.

mod aiperf;
mod fields;
mod guidellm;
mod openai;
mod sglang;

use records::Prompt;

use self::fields::Fields;

/// The text or messages of a row, under all names that are known.
const SOURCES: [&str; 7] =
    ["prompt", "messages", "text", "texts", "text_input", "conversations", "conversation"];
/// The output length.
const OUTPUTS: [&str; 6] = [
    "max_tokens",
    "output_tokens",
    "output_length",
    "output_tokens_count",
    "completion_tokens_count",
    "max_completion_tokens",
];
/// The prompt's length.
const COUNTS: [&str; 4] = ["prompt_tokens", "prompt_len", "prompt_tokens_count", "input_tokens_count"];

/// Another tool's row.
#[derive(Debug, PartialEq)]
pub(crate) struct Foreign {
    /// What it asks for.
    pub(crate) row: Prompt,
    /// The text whose tokens are its output length, if that is how it states it.
    pub(crate) answer: Option<String>,
}

/// Reads a line that is in another tool's format; `None`: it is in none of these.
///
/// Fails, with the remedy, on a row that could be read in two ways, and on a field that changes the request but has
/// no place in ours.
pub(crate) fn read(line: &str) -> Result<Option<Foreign>, String> {
    let Some(mut fields) = Fields::of(line) else { return Ok(None) };
    let Some(tool) = Tool::of(&fields) else { return Ok(None) };
    tool.refuse(&fields)?;
    if let Some((one, other)) = fields.two_of(&SOURCES) {
        return Err(format!("both `{one}` and `{other}`; leave one of them out"));
    }
    let answer = match tool {
        Tool::Sglang => Some(sglang::turns(&mut fields)?),
        Tool::Aiperf => {
            aiperf::rename(&mut fields)?;
            None
        }
        Tool::Openai => {
            openai::rename(&mut fields);
            None
        }
        Tool::Guidellm => None,
    };
    fields.text(&["text", "text_input"], "prompt")?;
    fields.count(&OUTPUTS, "max_tokens")?;
    fields.count(&COUNTS, "prompt_tokens")?;
    Ok(Some(Foreign { row: fields.prompt()?, answer }))
}

/// Whose format a row is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Aiperf,
    Guidellm,
    Openai,
    Sglang,
}

impl Tool {
    /// Records of these tools are nobody else's.
    fn of(fields: &Fields) -> Option<Self> {
        if fields.has_any(&["kind"]) {
            None
        } else if fields.has_any(&sglang::KEYS) {
            Some(Self::Sglang)
        } else if fields.has_any(&guidellm::KEYS) {
            Some(Self::Guidellm)
        } else if fields.has_any(&aiperf::KEYS) {
            Some(Self::Aiperf)
        } else if openai::is_body(fields) {
            Some(Self::Openai)
        } else {
            None
        }
    }

    fn refuse(self, fields: &Fields) -> Result<(), String> {
        match self {
            Self::Aiperf => aiperf::refuse(fields),
            Self::Guidellm => guidellm::refuse(fields),
            Self::Sglang => sglang::refuse(fields),
            Self::Openai => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_other_tools_are_read_as_ours() {
        for (theirs, ours) in [
            (r#"{"text":"a","output_length":3}"#, r#"{"prompt":"a","max_tokens":3}"#),
            (
                r#"{"type":"single_turn","text":"a","role":"user","session_id":"s","timestamp":1.5,"delay":null}"#,
                r#"{"id":"s","prompt":"a","at_us":1500}"#,
            ),
            (
                r#"{"text_input":"a","output_length":3,"timestamp":2,"extra":{"top_p":0.5}}"#,
                r#"{"prompt":"a","max_tokens":3,"at_us":2000,"extra_body":{"top_p":0.5}}"#,
            ),
            (
                r#"{"messages":[{"role":"user"}],"output_length":3,"message_mode":"history"}"#,
                r#"{"messages":[{"role":"user"}],"max_tokens":3}"#,
            ),
            (
                r#"{"prompt":"a","prompt_tokens_count":1,"output_tokens_count":3,"id":7}"#,
                r#"{"id":"7","prompt":"a","prompt_tokens":1,"max_tokens":3}"#,
            ),
            (r#"{"text":"a","completion_tokens_count":3}"#, r#"{"prompt":"a","max_tokens":3}"#),
            (
                r#"{"messages":[{"role":"user"}],"max_completion_tokens":3,"temperature":0.5,"tools":[]}"#,
                r#"{"messages":[{"role":"user"}],"max_tokens":3,"extra_body":{"temperature":0.5,"tools":[]}}"#,
            ),
        ] {
            let read = read(theirs).unwrap().unwrap();
            let expected = Prompt::from_row(ours).unwrap().unwrap();
            assert_eq!(read, Foreign { row: expected, answer: None }, "{theirs}");
        }
    }

    #[test]
    fn an_answer_is_an_output_length() {
        for line in [
            r#"{"id":"c","conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b c"}]}"#,
            r#"{"id":"c","conversation":[{"role":"user","content":"a"},{"content":"b c"},{"content":"d"}]}"#,
        ] {
            let read = read(line).unwrap().unwrap();
            assert_eq!(read.answer.as_deref(), Some("b c"), "{line}");
            assert_eq!(
                (read.row.prompt.as_deref(), read.row.id.as_deref()),
                (Some("a"), Some("c")),
                "{line}"
            );
        }
    }

    #[test]
    fn a_system_prompt_is_no_question() {
        let turns =
            r#"[{"from":"system","value":"s"},{"from":"human","value":"a"},{"from":"gpt","value":"b"}]"#;
        let read = read(&format!("{{\"conversations\":{turns}}}")).unwrap().unwrap();
        let messages = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}]}"#;
        let row = Prompt::from_row(messages).unwrap().unwrap();
        assert_eq!(read, Foreign { row, answer: Some("b".to_owned()) });
    }

    #[test]
    fn our_own_rows_are_left_alone() {
        for line in [
            r#"{"prompt":"a","output_tokens":3,"category":"math","timestamp":"today"}"#,
            r#"{"messages":[{"role":"user"}],"max_tokens":3}"#,
            r#"{"messages":[{"role":"user"}],"temperature":1,"extra_body":{}}"#,
            r#"{"kind":"prompt","v":1,"prompt":"a","text":"b"}"#,
            "nonsense",
        ] {
            assert_eq!(read(line), Ok(None), "{line}");
        }
    }

    #[test]
    fn what_has_no_place_is_refused() {
        for (line, problem) in [
            (r#"{"text":"a","prompt":"b"}"#, "both `prompt` and `text`; leave one of them out"),
            (r#"{"text":"a","texts":["b"]}"#, "`texts`: a batch in one request; write a row for each text"),
            (r#"{"text":"a","max_tokens":1,"output_length":2}"#, "both `max_tokens` and `output_length`"),
            (r#"{"text":"a","images":["b"]}"#, "`images`: write the request as `messages`"),
            (r#"{"text":"a","delay":5}"#, "`delay`: rows are sent by their `timestamp`"),
            (r#"{"text":"a","role":"system"}"#, "`role` is \"system\"; write the request as `messages`"),
            (r#"{"text":"a","timestamp":"now"}"#, "`timestamp` is \"now\"; give a number of milliseconds"),
            (r#"{"session_id":"s","turns":[{"text":"a"}]}"#, "`turns`: a conversation in one row"),
            (
                r#"{"timestamp":0,"input_length":5,"hash_ids":[1]}"#,
                "lengths without a text; `gen-dataset trace`",
            ),
            (r#"{"text_input":"a","input_length":5}"#, "both `text_input` and `input_length`; leave"),
            (r#"{"payload":{"prompt":"a"}}"#, "`payload`: give its `prompt` or `messages`"),
            (
                r#"{"messages":[],"output_length":1,"message_mode":"delta"}"#,
                "`message_mode` is \"delta\"; write",
            ),
            (r#"{"text":"a","output_length":"b"}"#, "`output_length` is \"b\"; give a number of tokens"),
            (r#"{"text":5}"#, "`text` is 5; give a string"),
            (r#"{"text":"a","top_p":0.5}"#, "`top_p` would be lost; put it into the row's `extra_body`"),
            (r#"{"prompt":"a","output_tokens_count":1,"prefix":"b"}"#, "`prefix`: put it into the prompt"),
            (
                r#"{"prompt":"a","output_tokens_count":1,"prompt_1":"b"}"#,
                "`prompt_1`: a conversation in one row",
            ),
            (
                r#"{"prompt":"a","output_tokens_count":1,"image":"b"}"#,
                "`image`: write the request as `messages`",
            ),
            (
                r#"{"conversations":[{"value":"a"}]}"#,
                "`conversations` has 1 turn; give a question and its answer",
            ),
            (
                r#"{"conversations":[{"value":"a"},{"x":1}]}"#,
                "`conversations[1]` has no `content` or `value`",
            ),
            (
                r#"{"conversations":[{"value":"a"},{"value":"b"}],"max_tokens":5}"#,
                "both `conversations`, whose answer gives the output length, and `max_tokens`",
            ),
            (
                r#"{"conversations":[{"from":"gpt","value":"a"},{"from":"human","value":"b"}]}"#,
                "`conversations[0]` is no user's; begin with the question",
            ),
            (r#"{"messages":[],"max_completion_tokens":1,"model":"m"}"#, "`model` would be lost"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(problem), "{line}: {error}");
        }
    }
}
