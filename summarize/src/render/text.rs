//! The report as vLLM prints it: 50 columns, values in the last 10.

use std::fmt::Write;

use crate::{
    Report,
    sheet::{self, Cell, Choice, Line, Section},
};

/// vLLM's block and nothing else; what it has no value for, it prints as 0.00.
pub(super) fn vllm(report: &Report, choice: Choice<'_>) -> String {
    let mut text = String::new();
    sections(&mut text, &sheet::block(&report.summary, choice), "0.00");
    close(&mut text);
    text
}

/// vLLM's block, then failures, requests, client and warnings in its style.
pub(super) fn report(report: &Report, choice: Choice<'_>) -> String {
    let mut block = sheet::block(&report.summary, choice);
    if let Some(workload) = &report.summary.workload {
        let line = Line { label: "Workload:".to_owned(), cell: Cell::Word(workload.clone()) };
        block[0].lines.insert(0, line);
    }
    block.extend(sheet::supplement(report).into_iter().filter(|section| !section.lines.is_empty()));
    let mut text = String::new();
    sections(&mut text, &block, "n/a");
    if !report.summary.warnings.is_empty() {
        let _ = writeln!(text, "{:-^50}", "Warnings");
        for warning in &report.summary.warnings {
            let _ = writeln!(text, "{warning}");
        }
    }
    close(&mut text);
    text
}

fn sections(text: &mut String, sections: &[Section], missing: &str) {
    for (at, Section { title, lines }) in sections.iter().enumerate() {
        let _ = if at == 0 {
            writeln!(text, "{:=^50}", format!(" {title} "))
        } else {
            writeln!(text, "{title:-^50}")
        };
        for Line { label, cell } in lines {
            let _ = writeln!(text, "{:<40} {:<10}", label, cell.show(missing));
        }
    }
}

fn close(text: &mut String) {
    let _ = writeln!(text, "{:=^50}", "");
}
