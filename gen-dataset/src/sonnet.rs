//! `sonnet`: lines of verse after a shared beginning.

use std::io::Read;

use rand::RngExt;
use rayon::prelude::*;
use records::{Error, Input, Prompt, Result};

use crate::{SonnetArgs, Tokens, distinct::Distinct, excerpt, generator, source::Source};

static SONNETS: &str = include_str!("../assets/sonnets.txt");
const INSTRUCTION: &str = "Continue the following poem in its own style, with as many lines as you can:\n";
/// Draws of other lines before a row of exact length is given up.
const ATTEMPTS: u64 = 100;
/// Tokens made at once: bounds memory, and is enough work to spread over the threads.
const BATCH_TOKENS: u64 = 1 << 17;

/// Rows made one by one, each from the generator of its own number.
pub(crate) struct Sonnet<'a> {
    tokens: &'a Tokens,
    lines: Vec<String>,
    /// What all prompts begin with.
    prefix: String,
    prefix_ids: Vec<u32>,
    input_len: usize,
    output_len: u64,
    seed: u64,
    rows: std::ops::Range<u64>,
    distinct: Distinct,
}

impl<'a> Sonnet<'a> {
    /// Reads the lines and cuts the prefix.
    pub(crate) fn open(args: &SonnetArgs, tokens: &'a Tokens) -> Result<Self> {
        let (file, text) = match &args.file {
            None => ("the sonnets".to_owned(), SONNETS.to_owned()),
            Some(path) => read(path)?,
        };
        let lines: Vec<String> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        if lines.is_empty() {
            return Err(Error::usage(format!("{file}: no lines to take; give a text")));
        }
        let (prefix, prefix_ids) = prefix(tokens, &lines, args.prefix_len as usize)?;
        Ok(Self {
            tokens,
            lines,
            prefix,
            prefix_ids,
            input_len: args.input_len as usize,
            output_len: args.output_len,
            seed: args.common.seed,
            rows: 0..args.num_prompts,
            distinct: Distinct::default(),
        })
    }

    /// Row `index`; another one for each `attempt`.
    fn row(&self, index: u64, attempt: u64) -> Result<Prompt> {
        for draw in 0..ATTEMPTS {
            if let Some(text) = self.text(index, attempt * ATTEMPTS + draw)? {
                return Ok(Prompt {
                    prompt: Some(text),
                    prompt_tokens: Some(self.input_len as u64),
                    max_tokens: Some(self.output_len),
                    ..Prompt::default()
                });
            }
        }
        Err(Error::usage(format!(
            "--input-len {}: no prompt of exactly that length was found in {ATTEMPTS} attempts; try another \
             length, or another text",
            self.input_len
        )))
    }

    /// The prefix and lines drawn at random, cut to length; `None` if that cannot be had with these lines.
    fn text(&self, index: u64, draw: u64) -> Result<Option<String>> {
        let mut rng = generator::of_row(self.seed, index, draw);
        // A break after a sign would merge with it; and where it is all there is room for, prompts would repeat.
        let joints = if draw < ATTEMPTS { ["\n", " "] } else { [" ", "\n"] };
        for joint in joints {
            let mut text = self.prefix.clone();
            let mut more = if text.is_empty() { "" } else { joint };
            // A line has tokens enough that a few are too many; each round doubles what was too little.
            let mut wanted = (self.input_len - self.prefix_ids.len()) / 8 + 1;
            let mut before = self.prefix_ids.len();
            loop {
                for _ in 0..wanted {
                    text.push_str(more);
                    text.push_str(&self.lines[rng.random_range(0..self.lines.len())]);
                    more = "\n";
                }
                let length = self.tokens.encode(&text)?.len();
                if length > self.input_len {
                    break;
                }
                // A tokenizer may drop all that it doesn't know, or make one token of it however long.
                if length <= before {
                    return Ok(None);
                }
                before = length;
                wanted *= 2;
            }
            let cut = excerpt::beginning(self.tokens, &text, self.input_len)?;
            if let Some((text, _)) = cut.filter(|(_, ids)| ids.starts_with(&self.prefix_ids)) {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}

impl Source for Sonnet<'_> {
    fn batch(&mut self, want: u64) -> Result<Option<Vec<Prompt>>> {
        let least = rayon::current_num_threads() as u64;
        let most = (BATCH_TOKENS / self.input_len as u64).clamp(least, 1024).min(want);
        let rows = self.rows.start..self.rows.end.min(self.rows.start + most);
        self.rows.start = rows.end;
        if rows.is_empty() {
            return Ok(None);
        }
        let made: Vec<Prompt> =
            rows.clone().into_par_iter().map(|index| self.row(index, 0)).collect::<Result<_>>()?;
        let mut distinct = std::mem::take(&mut self.distinct);
        let new =
            rows.zip(made).map(|(index, row)| distinct.or_else(row, |attempt| self.row(index, attempt)));
        let new = new.collect::<Result<_>>()?;
        self.distinct = distinct;
        Ok(Some(new))
    }

    fn remarks(&self) -> Vec<String> {
        self.distinct.remark().into_iter().collect()
    }
}

fn read(path: &std::path::Path) -> Result<(String, String)> {
    let (file, mut reader) = Input::reader(Some(path), "name a text file, or leave it out")?;
    let mut text = String::new();
    reader.read_to_string(&mut text).map_err(|error| Error::read(&file, error))?;
    Ok((file, text.trim_start_matches('\u{FEFF}').to_owned()))
}

/// The instruction and the first lines, as many as make `length` tokens.
fn prefix(tokens: &Tokens, lines: &[String], length: usize) -> Result<(String, Vec<u32>)> {
    if length == 0 {
        return Ok((String::new(), Vec::new()));
    }
    let mut text = INSTRUCTION.to_owned();
    for line in lines.iter().cycle().take(length.max(lines.len())) {
        text.push_str(line);
        text.push('\n');
        // Most lines have several tokens, and none has less than one.
        if text.len() > 16 * length + 256 {
            break;
        }
    }
    excerpt::beginning(tokens, &text, length)?.ok_or_else(|| {
        Error::usage(format!(
            "--prefix-len {length}: the text has no beginning of exactly that length; try another"
        ))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{Args, Command, Dataset};

    /// The first rows of a text, or why there are none.
    fn rows(tokens: &Tokens, text: &str, flags: &str) -> std::result::Result<Vec<Prompt>, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("text");
        std::fs::write(&file, text).unwrap();
        let words = ["gen-dataset", "sonnet", file.to_str().unwrap()];
        let args = Args::parse_from(words.into_iter().chain(flags.split(' ')));
        let Command::Dataset(Dataset::Sonnet(args)) = args.command else { panic!("not sonnet") };
        let made = Sonnet::open(&args, tokens).and_then(|mut sonnet| sonnet.batch(u64::MAX));
        made.map(Option::unwrap_or_default).map_err(|error| error.to_string())
    }

    #[test]
    fn texts_of_any_script_and_form_are_cut_exactly() {
        let tokens = Tokens::load("qwen3").unwrap();
        // The last is in a normal form (NFD) that takes three times the bytes of the one Qwen3 counts by.
        for text in [
            "a\n",
            "\u{FEFF}日本\n\n  語\r\n",
            &"\u{1112}\u{1161}\u{11AB} \u{1100}\u{1173}\u{11AF}\n".repeat(9),
        ] {
            let rows = rows(&tokens, text, "--input-len 300 --prefix-len 150 --num-prompts 5").unwrap();
            assert_eq!(rows.len(), 5);
            for row in rows {
                assert_eq!(tokens.count(row.prompt.as_deref().unwrap()).unwrap(), 300, "{text}");
                assert_eq!(row.prompt_tokens, Some(300));
            }
        }
    }

    #[test]
    fn a_text_without_tokens_is_refused() {
        let letters = r#"{"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,
            "decoder":{"type":"Fuse"},"model":{"type":"BPE","unk_token":UNK,"fuse_unk":true,"byte_fallback":false,
            "vocab":{"a":0,"?":1},"merges":[]}}"#;
        for unknown in ["null", "\"?\""] {
            let tokens = Tokens::from_json("letters", letters.replace("UNK", unknown).as_bytes()).unwrap();
            let refused = rows(&tokens, "日本\n語\n", "--input-len 9 --prefix-len 0").unwrap_err();
            assert!(refused.starts_with("--input-len 9: no prompt of exactly that length"), "{refused}");
        }
        let tokens = Tokens::load("qwen3").unwrap();
        assert!(
            rows(&tokens, " \n\n", "--input-len 9 --prefix-len 0").unwrap_err().contains("no lines to take")
        );
    }
}
