//! vLLM's `CustomDataset`.

use records::{Error, Input, Lines, Prompt, Result};
use rng::python;
use serde_json::json;

use super::{Like, oversample::Oversample};
use crate::{CustomArgs, Tokens, feed, row, source::Source};

/// The output length of all rows, unless another is given.
const OUTPUT: u64 = 256;

/// Rows in shuffled order, held in memory.
pub(crate) struct Custom<'a> {
    tokens: &'a Tokens,
    like: Like,
    /// Whether prompts are sent in the model's chat template.
    template: bool,
    /// `None`: the rows' own.
    output_len: Option<u64>,
    /// Whether rows state lengths that are not used.
    hidden: bool,
    file: String,
    passed_over: u64,
    /// With their lines.
    rows: std::vec::IntoIter<(u64, Prompt)>,
    oversample: Oversample,
}

impl<'a> Custom<'a> {
    /// Reads the whole file.
    pub(crate) fn open(args: &CustomArgs, like: Like, tokens: &'a Tokens) -> Result<Self> {
        let lines = Input::open(args.file.as_deref(), "name a file of JSON lines, or pipe them in")?;
        let file = lines.file().to_owned();
        let (mut rows, passed_over) = read(lines)?;
        let seed = seed(args, like);
        if !args.disable_shuffle {
            python::Random::new(seed).shuffle(&mut rows);
        }
        let wanted = args.num_prompts.filter(|_| !args.no_oversample);
        let hidden = args.output_len.is_none() && rows.iter().any(|(_, row)| row.max_tokens.is_some());
        Ok(Self {
            tokens,
            like,
            template: !args.skip_chat_template,
            output_len: if args.output_len.is_none() { Some(OUTPUT) } else { args.default_output() },
            hidden,
            file,
            passed_over,
            rows: rows.into_iter(),
            oversample: Oversample::new(like, seed, wanted),
        })
    }

    fn row(&self, line: u64, row: Prompt) -> Result<Prompt> {
        let fail = |problem: &str| Error::Line { file: self.file.clone(), line, problem: problem.to_owned() };
        let prompt = row.prompt.ok_or_else(|| fail("no `prompt`, which vLLM's custom dataset needs"))?;
        if prompt.is_empty() {
            return Err(fail("the prompt is empty; a server would refuse it"));
        }
        let prompt = if self.template {
            self.tokens.chat(&[json!({"role": "user", "content": prompt})])?
        } else {
            prompt
        };
        let output = self.output_len.or(row.max_tokens);
        Ok(Prompt {
            prompt_tokens: Some(self.tokens.count(&prompt)? + self.like.special_count(self.tokens)),
            max_tokens: Some(
                output.ok_or_else(|| fail("no `output_tokens`, which --output-len -1 asks for"))?,
            ),
            prompt: Some(prompt),
            ..Prompt::default()
        })
    }
}

/// 0.11 leaves out to hand its seed on.
fn seed(args: &CustomArgs, like: Like) -> u64 {
    match like {
        Like::Vllm033 => args.common.seed,
        Like::Vllm011 => 0,
    }
}

/// The rows, and how many records of other kinds lay between them.
fn read(mut lines: Lines) -> Result<(Vec<(u64, Prompt)>, u64)> {
    let (mut rows, mut passed_over) = (Vec::new(), 0);
    while let Some(line) = lines.next_line()? {
        let number = line.number;
        if row::passes_by(line.text) {
            passed_over += 1;
            continue;
        }
        let row = row::read_own(line.text);
        let file = || lines.file().to_owned();
        rows.push((number, row.map_err(|problem| Error::Line { file: file(), line: number, problem })?));
    }
    Ok((rows, passed_over))
}

impl Source for Custom<'_> {
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>> {
        let some: Vec<(u64, Prompt)> = self.rows.by_ref().take(want.min(256) as usize).collect();
        if some.is_empty() {
            return Ok(self.oversample.repeats());
        }
        let rows: Vec<Prompt> =
            some.into_iter().map(|(line, row)| self.row(line, row)).collect::<Result<_>>()?;
        self.oversample.keep(&rows);
        Ok(Some(rows))
    }

    fn remarks(&self) -> Vec<String> {
        let hidden = self.hidden.then(|| {
            format!("all rows ask for {OUTPUT} tokens, as vLLM does by default; their own lengths: --output-len -1")
        });
        let passed_over = feed::passed_over(self.passed_over);
        passed_over.into_iter().chain(hidden).chain(self.oversample.remark()).collect()
    }
}
