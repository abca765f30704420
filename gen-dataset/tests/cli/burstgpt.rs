//! `burstgpt`.

use std::collections::HashSet;

use gen_dataset::Tokens;
use records::Micros;

use crate::tool::Tool;

fn flags() -> String {
    format!("burstgpt {}/tests/data/burstgpt.csv", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn arrivals_keep_order_times_and_lengths() {
    let tool = Tool::new();
    let ended = tool.run(&format!("{} --arrivals", flags()));
    assert!(ended.err.contains("skipped 1 requests without request or response tokens"), "{}", ended.err);
    assert!(ended.err.contains("4 rows written, 1000 asked"), "{}", ended.err);
    let tokens = Tokens::load("qwen3").unwrap();
    let expected = [(472, 18, 0), (108, 230, 40_000_000), (417, 276, 113_250_000), (17, 6, 115_000_000)];
    let rows = ended.rows();
    assert_eq!(rows.len(), expected.len());
    for (row, (input, output, at)) in rows.iter().zip(expected) {
        assert_eq!(tokens.count(row.prompt.as_deref().unwrap()).unwrap(), input);
        assert_eq!((row.prompt_tokens, row.max_tokens), (Some(input), Some(output)));
        assert_eq!(row.at_us, Some(Micros::new(f64::from(at))));
    }
    // A kind of two words needs an argument of its own.
    let mut command = tool.command(&format!("{} --arrivals --log-type", flags()));
    let output = command.arg("API log").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 1);
}

#[test]
fn without_arrivals_requests_are_drawn_by_seed() {
    let tool = Tool::new();
    let draw = |seed: u32, count: u32| -> Vec<Option<u64>> {
        let rows = tool.rows(&format!("{} --seed {seed} --num-prompts {count}", flags()));
        assert!(rows.iter().all(|row| row.at_us.is_none()));
        rows.iter().map(|row| row.prompt_tokens).collect()
    };
    let orders: HashSet<_> = (0..8).map(|seed| draw(seed, 4)).collect();
    assert!(orders.len() > 2);
    assert!(draw(3, 4).starts_with(&draw(3, 2)));
    assert_eq!(tool.rows(&format!("{} --model GPT-4", flags())).len(), 2);
}

#[test]
fn faults_are_said_with_their_place() {
    let tool = Tool::new();
    let header = "Timestamp,Model,Request tokens,Response tokens";
    for (words, input, part) in [
        ("burstgpt -", "a,b\n1,2\n".to_owned(), "no column `Request tokens`"),
        ("burstgpt -", format!("{header}\n1,x,many,3\n"), "stdin:2: column `Request tokens`: `many`"),
        (
            "burstgpt - --arrivals",
            format!("{header}\n2,x,3,3\n1,x,3,3\n"),
            "stdin:3: column `Timestamp`: 1 is earlier",
        ),
        ("burstgpt - --log-type x", format!("{header}\n2,x,3,3\n"), "no column `Log Type`"),
        ("burstgpt -", format!("{header}\n2,x,0,3\n"), "no row to write"),
        (
            "burstgpt - --model X",
            format!("{header}\n2,x,3,3\n"),
            "no row to write: stdin: none of 1 requests has --model 'X'",
        ),
        ("burstgpt -", format!("{header}\r\n2,x,3\r\n"), "stdin:2: 3 columns where the header has 4"),
        ("burstgpt -", format!("{header}\n2,x,99999999999,3\n"), "stdin:2: column `Request tokens`"),
    ] {
        tool.run_with(words, &input).refused(part);
    }
}
