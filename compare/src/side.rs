//! An input, read: its summaries.

use records::{AnyRecord, Error, Kind, Lines, Record, Result, Summary};
use serde::Deserialize;
use summarize::Options;

use crate::source::{self, Source};

/// One input's figures.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Side {
    /// What it is called in the report.
    pub(crate) label: String,
    /// One for each workload, or one for all.
    pub(crate) summaries: Vec<Summary>,
    /// What was wrong with the file.
    warnings: Vec<String>,
}

/// Reads all inputs, in the order given.
pub(crate) fn read_all(sources: &[Source], options: &Options) -> Result<Vec<Side>> {
    source::labels(sources)?
        .into_iter()
        .zip(sources)
        .map(|(label, source)| {
            let mut warnings = Vec::new();
            let summaries = read(source.open()?, options, &mut warnings)?;
            if summaries.is_empty() {
                let problem = "holds no timing and no summary; there is nothing to compare";
                return Err(Error::usage(format!("{source}: {problem}")));
            }
            Ok(Side { label, summaries, warnings })
        })
        .collect()
}

/// What was wrong with the files of `sides`.
pub(crate) fn warnings(sides: &[Side]) -> impl Iterator<Item = String> {
    sides.iter().flat_map(|side| side.warnings.iter().cloned())
}

fn read(mut lines: Lines, options: &Options, warnings: &mut Vec<String>) -> Result<Vec<Summary>> {
    match Shape::of(&mut lines)? {
        Shape::Empty => Ok(Vec::new()),
        Shape::Timings => summarize::summaries(vec![lines], options),
        Shape::Summaries => summary_lines(lines, warnings),
        Shape::Results => result_lines(lines),
        Shape::Document => document(lines).map(|summary| vec![summary]),
    }
}

/// What an input holds, judged by its first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Empty,
    /// Records of a run, to be folded.
    Timings,
    /// Summary records.
    Summaries,
    /// Results of `vllm bench serve`, one a line.
    Results,
    /// One object over many lines.
    Document,
}

/// Stands in every result of `vllm bench serve`, and says that it is one.
const RESULT_KEY: &str = "\"total_token_throughput\"";

impl Shape {
    fn of(lines: &mut Lines) -> Result<Self> {
        let Some(line) = lines.peek_line()? else { return Ok(Self::Empty) };
        let (number, text) = (line.number, line.text);
        let problem = match Kind::of(text).as_ref().map(Kind::name) {
            Ok("") if text.contains(RESULT_KEY) => return Ok(Self::Results),
            Ok("") => "no field `kind`, and no result of `vllm bench serve`".to_owned(),
            Ok(Summary::KIND) => return Ok(Self::Summaries),
            Ok(kind @ ("prompt" | "comparison")) => format!("a {kind} record"),
            Err(_) if begins_a_document(text) => return Ok(Self::Document),
            // An unknown kind may be a side-car record; a broken line is `summarize`'s to report.
            Ok(_) | Err(_) => return Ok(Self::Timings),
        };
        Err(lines.error(number, format!("{problem}; compare reads timings, summaries and vLLM's results")))
    }
}

/// Records of these tools are never spread over lines, so a cut-off line with a `kind` is a broken record.
fn begins_a_document(line: &str) -> bool {
    let unfinished = serde_json::from_str::<serde::de::IgnoredAny>(line).is_err_and(|error| error.is_eof());
    unfinished && line.starts_with('{') && !line.contains("\"kind\"")
}

fn summary_lines(mut lines: Lines, warnings: &mut Vec<String>) -> Result<Vec<Summary>> {
    let mut summaries = Vec::new();
    while let Some((number, record)) = lines.next_record(warnings)? {
        match record {
            AnyRecord::Summary(summary) => summaries.push(*summary),
            AnyRecord::Other(_) => {}
            other => {
                let problem = format!("a {other} record among summaries; give each its own file");
                return Err(lines.error(number, problem));
            }
        }
    }
    Ok(summaries)
}

fn result_lines(mut lines: Lines) -> Result<Vec<Summary>> {
    let mut summaries = Vec::new();
    while let Some(line) = lines.next_line()? {
        let (number, summary) = (line.number, vllm_result(line.text));
        summaries.push(summary.map_err(|problem| lines.error(number, problem))?);
    }
    Ok(summaries)
}

fn document(mut lines: Lines) -> Result<Summary> {
    let mut text = String::new();
    let mut position = 1;
    while let Some(line) = lines.next_line()? {
        // Blank lines were skipped: keep the count that errors go by.
        while position < line.number {
            text.push('\n');
            position += 1;
        }
        text.push_str(line.text);
    }
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&text) {
        return Err(lines.error(error.line() as u64, format!("not JSON: {error}")));
    }
    if !text.contains(RESULT_KEY) {
        return Err(lines.error(1, "not a result of `vllm bench serve`: it has no `total_token_throughput`"));
    }
    vllm_result(&text).map_err(|problem| lines.error(1, problem))
}

#[derive(Deserialize)]
struct Failures {
    failed: Option<u64>,
}

/// A summary has the keys of vLLM's result. Releases before the key `failed` left failures to be worked out.
fn vllm_result(text: &str) -> std::result::Result<Summary, String> {
    let mut summary = Summary::from_line(text)?;
    let failures: Failures = serde_json::from_str(text).map_err(|error| error.to_string())?;
    summary.failed = failures.failed.unwrap_or(summary.num_prompts.saturating_sub(summary.completed));
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summaries(text: &'static str) -> Result<Vec<Summary>> {
        let lines = Lines::new("a.json", Box::new(text.as_bytes()));
        read(lines, &Options::default(), &mut Vec::new())
    }

    fn problem(text: &'static str) -> String {
        summaries(text).unwrap_err().to_string()
    }

    const RESULT: &str = r#"{"date":"20261201-034810","num_prompts":10,"completed":7,"total_input_tokens":1,
        "total_output_tokens":2,"total_token_throughput":3.5,"ttfts":[0.1],"p99_ttft_ms":4.5}"#;

    #[test]
    fn a_result_over_several_lines_is_one_summary() {
        let summary = &summaries(RESULT).unwrap()[0];
        assert_eq!((summary.completed, summary.total_token_throughput), (7, Some(3.5)));
        assert_eq!(summary.metrics["p99_ttft_ms"], Some(4.5));
    }

    #[test]
    fn failures_that_an_old_result_does_not_state_are_worked_out() {
        assert_eq!(summaries(RESULT).unwrap()[0].failed, 3);
    }

    #[test]
    fn appended_results_are_one_summary_each() {
        let line = r#"{"completed":1,"failed":2,"total_input_tokens":1,"total_output_tokens":1,"total_token_throughput":9}"#;
        let text: &'static str = format!("{line}\n{line}\n").leak();
        let failed: Vec<_> = summaries(text).unwrap().iter().map(|summary| summary.failed).collect();
        assert_eq!(failed, [2, 2]);
    }

    #[test]
    fn errors_say_where_and_what() {
        for (text, expected) in [
            ("{\n  \"a\": 1,\n\n  oops\n}\n", "a.json:4: not JSON"),
            ("{\n  \"a\": 1\n}\n", "a.json:1: not a result"),
            ("{\"a\":1}\n", "a.json:1: no field `kind`"),
            ("{\"kind\":\"prompt\",\"prompt\":\"x\"}\n", "a.json:1: a prompt record"),
            (
                "{\"kind\":\"summary\",\"completed\":1,\"total_input_tokens\":1,\"total_output_tokens\":1}\n{\"kind\":\"summary\"}\n",
                "a.json:2: missing field `completed`",
            ),
        ] {
            assert!(problem(text).starts_with(expected), "{}", problem(text));
        }
    }
}
