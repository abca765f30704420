//! `export`: our rows in the formats of other tools.

mod aiperf;
mod guidellm;
mod sglang;
mod tally;
mod tool;
mod vllm;

use records::{Error, Exit, Input, Output, Prompt, Result};

use self::tally::Tally;
pub use self::tool::Tool;
use crate::{ExportArgs, feed::Feed};

/// Writes the rows as they come, and at the end, to stderr, what was left out and how to send them.
pub(crate) fn run(args: &ExportArgs, output: &mut Output) -> Result<Exit> {
    let lines = Input::open(args.file.as_deref(), "name a file of prompts, or pipe them in")?;
    let file = lines.file().to_owned();
    let feed = Feed::new(lines, None);
    let mut tally = Tally::default();
    loop {
        let lines = feed.some(usize::MAX);
        if lines.is_empty() {
            break;
        }
        for line in lines {
            let line = line?;
            let row = row(args.to, &line.text, &mut tally);
            let fail = |problem| Error::Line { file: file.clone(), line: line.line, problem };
            output.line(&row.map_err(fail)?)?;
        }
        output.flush()?;
    }
    if tally.rows == 0 {
        let why = feed.remark().unwrap_or_else(|| "the input is empty".to_owned());
        return Err(Error::usage(format!("no row to write: {why}")));
    }
    for remark in feed.remark().into_iter().chain(tally.remarks(args.to)) {
        eprintln!("gen-dataset: {remark}");
    }
    eprintln!("gen-dataset: {} sends these {} rows by: {}", args.to, tally.rows, args.to.command(&tally));
    Ok(Exit::Done)
}

/// The line for a row; or what keeps it from being one.
fn row(tool: Tool, line: &str, tally: &mut Tally) -> std::result::Result<String, String> {
    let mut row = Prompt::from_row(line)?.ok_or("not a prompt; give rows with `prompt` or `messages`")?;
    let output = row.max_tokens.filter(|&tokens| tokens > 0).ok_or(
        "no `max_tokens` of 1 or more, which the other tool would choose itself; `gen-dataset custom --output-len` \
         gives rows one",
    )?;
    if row.prompt.as_deref() == Some("") || row.messages.as_ref().is_some_and(Vec::is_empty) {
        return Err(
            "the prompt is empty; a server would refuse it, and other tools may pass over it".to_owned()
        );
    }
    tally.see(&row);
    if tool == Tool::Aiperf && ![0, tally.rows].contains(&tally.timed) {
        return Err("some rows have an `at_us` and some have none, but aiperf's schedule is one for all; give all of \
                    them one, or none"
            .to_owned());
    }
    let theirs = tool.row(&mut row, output)?;
    tally.lost(&row);
    Ok(theirs.to_string())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    fn exported(tool: Tool, line: &str) -> std::result::Result<String, String> {
        row(tool, line, &mut Tally::default())
    }

    #[test]
    fn rows_are_theirs() {
        let text = r#"{"id":"a","prompt":"x","prompt_tokens":1,"max_tokens":2,"at_us":1500,"extra_body":{"top_p":1}}"#;
        let chat = r#"{"messages":[{"role":"user","content":"x"}],"max_tokens":2,"extra_body":{"top_p":1}}"#;
        for (tool, line, expected) in [
            (Tool::Vllm, text, r#"{"prompt":"x","output_tokens":2}"#),
            (Tool::Sglang, text, r#"{"messages":[{"role":"user","content":"x"}],"max_tokens":2,"top_p":1}"#),
            (Tool::Sglang, chat, r#"{"messages":[{"role":"user","content":"x"}],"max_tokens":2,"top_p":1}"#),
            (
                Tool::Aiperf,
                text,
                r#"{"type":"mooncake_trace","timestamp":1.5,"text_input":"x","output_length":2,"extra":{"top_p":1}}"#,
            ),
            (
                Tool::Aiperf,
                chat,
                r#"{"type":"mooncake_trace","messages":[{"role":"user","content":"x"}],"output_length":2,"extra":{"top_p":1}}"#,
            ),
            (Tool::Guidellm, text, r#"{"prompt":"x","prompt_tokens_count":1,"output_tokens_count":2}"#),
        ] {
            assert_eq!(exported(tool, line).unwrap(), expected);
        }
    }

    #[test]
    fn what_would_be_lost_of_a_request_is_refused() {
        let chat = r#"{"messages":[{"role":"user","content":"x"}],"max_tokens":2}"#;
        for (tool, line, problem) in [
            (
                Tool::Vllm,
                chat,
                "`messages` have no place in vllm's rows, which are text; export --to sglang or aiperf",
            ),
            (Tool::Guidellm, chat, "`messages` have no place in guidellm's rows"),
            (
                Tool::Sglang,
                r#"{"prompt":"x","max_tokens":2,"extra_body":{"model":"m"}}"#,
                "`extra_body` sets `model`, which sglang passes over",
            ),
        ] {
            let error = exported(tool, line).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
        for tool in Tool::value_variants() {
            for line in [r#"{"prompt":"x"}"#, r#"{"prompt":"x","max_tokens":0}"#] {
                assert!(exported(*tool, line).unwrap_err().starts_with("no `max_tokens`"), "{tool}");
            }
            for line in [r#"{"prompt":"","max_tokens":2}"#, r#"{"messages":[],"max_tokens":2}"#] {
                assert!(exported(*tool, line).unwrap_err().starts_with("the prompt is empty"), "{tool}");
            }
        }
    }

    #[test]
    fn times_are_given_to_all_rows_or_none() {
        let mut tally = Tally::default();
        let (timed, untimed) =
            (r#"{"prompt":"x","max_tokens":2,"at_us":0}"#, r#"{"prompt":"x","max_tokens":2}"#);
        assert!(row(Tool::Aiperf, timed, &mut tally).is_ok());
        let error = row(Tool::Aiperf, untimed, &mut tally).unwrap_err();
        assert!(error.starts_with("some rows have an `at_us` and some have none"), "{error}");
        assert!(row(Tool::Vllm, untimed, &mut tally).is_ok());
    }
}
