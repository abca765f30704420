//! Rows that are turns of one conversation.

use indexmap::IndexMap;
use records::Prompt;
use serde_json::{Value, json};

use crate::feed::Row;

/// A row's place in a conversation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    /// The conversation's name.
    pub(crate) session: String,
    /// Its place, counted from 0.
    pub(crate) number: u64,
    /// The line that it stands in.
    line: u64,
    /// The place that it states.
    stated: Option<u64>,
    /// What it says, for the body, which can be made only when the turn before it has been answered.
    prompt: Prompt,
}

impl Turn {
    /// The place of the row in `line`, if it has one.
    pub(crate) fn of(prompt: &Prompt, line: u64) -> Option<Self> {
        let session = prompt.session.clone()?;
        Some(Self { session, number: 0, line, stated: prompt.turn, prompt: prompt.clone() })
    }

    /// The messages of this turn.
    fn messages(&self) -> Vec<Value> {
        let text = || json!({ "role": "user", "content": self.prompt.prompt });
        self.prompt.messages.clone().unwrap_or_else(|| vec![text()])
    }
}

/// What has been said in a conversation.
#[derive(Debug, Default)]
pub(crate) struct History(Vec<Value>);

impl History {
    /// Adds a turn and the server's answer to it.
    pub(crate) fn add(&mut self, turn: &Turn, answer: &str) {
        self.0.extend(turn.messages());
        self.0.push(json!({ "role": "assistant", "content": answer }));
    }

    /// The prompt of `turn`: everything said so far, and its own messages.
    pub(crate) fn prompt(&self, turn: &Turn) -> Prompt {
        let messages = self.0.iter().cloned().chain(turn.messages()).collect();
        Prompt { prompt: None, messages: Some(messages), ..turn.prompt.clone() }
    }
}

/// Hangs the turns of each conversation onto the first, in their order. Conversations stand where their first row
/// stood. Fails with the line of a row that has no place in its conversation.
pub(crate) fn chained(rows: Vec<Row>) -> Result<Vec<Row>, (u64, String)> {
    let mut sessions: IndexMap<String, Vec<Row>> = IndexMap::new();
    let mut order = Vec::new();
    for row in rows {
        match row.turn.as_ref().map(|turn| turn.session.clone()) {
            None => order.push(Err(row)),
            Some(session) => {
                if !sessions.contains_key(&session) {
                    order.push(Ok(session.clone()));
                }
                sessions.entry(session).or_default().push(row);
            }
        }
    }
    let whole = |place: Result<String, Row>| match place {
        Ok(session) => joined(sessions.swap_remove(&session).unwrap_or_default()),
        Err(row) => Ok(row),
    };
    let mut rows: Vec<Row> = order.into_iter().map(whole).collect::<Result<_, _>>()?;
    // The first stood where it stood; what follows it is counted anew, as later turns are sent by no schedule.
    let before = rows.first().map_or(0, |first| {
        first.number.min(first.later.iter().map(|row| row.number).min().unwrap_or(u64::MAX))
    });
    for (row, number) in rows.iter_mut().zip(before..) {
        row.number = number;
    }
    Ok(rows)
}

fn joined(mut turns: Vec<Row>) -> Result<Row, (u64, String)> {
    let places: Vec<(u64, Option<u64>)> =
        turns.iter().filter_map(|row| row.turn.as_ref()).map(|turn| (turn.line, turn.stated)).collect();
    if places.iter().any(|(_, stated)| stated.is_some()) {
        if let Some((line, _)) = places.iter().find(|(_, stated)| stated.is_none()) {
            return Err((
                *line,
                "no `turn`, but others of its `session` have one; give it its place".to_owned(),
            ));
        }
        turns.sort_by_key(|row| row.turn.as_ref().and_then(|turn| turn.stated));
        let stated = |row: &Row| row.turn.as_ref().map(|turn| (turn.stated, turn.line));
        for pair in turns.windows(2) {
            if let (Some((one, _)), Some((other, line))) = (stated(&pair[0]), stated(&pair[1]))
                && one == other
            {
                return Err((
                    line,
                    "`turn` is that of another row of its `session`; give each its place".to_owned(),
                ));
            }
        }
    }
    for (number, row) in turns.iter_mut().enumerate() {
        if let Some(turn) = &mut row.turn {
            turn.number = number as u64;
            if number > 0 && row.at.is_some() {
                let problem =
                    "`at_us` in a later turn of a `session`, which waits for the answer before it; delete it";
                return Err((turn.line, problem.to_owned()));
            }
        }
    }
    let mut turns = turns.into_iter();
    let mut first = turns.next().unwrap_or_default();
    first.later = turns.collect();
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(line: u64, json: &str) -> Row {
        let prompt: Prompt = serde_json::from_str(json).unwrap();
        Row { id: line.to_string(), turn: Turn::of(&prompt, line), ..Row::default() }
    }

    fn ids(rows: &[Row]) -> Vec<Vec<&str>> {
        rows.iter()
            .map(|row| std::iter::once(row).chain(&row.later).map(|row| row.id.as_str()).collect())
            .collect()
    }

    #[test]
    fn turns_follow_their_first() {
        let rows = vec![
            row(1, r#"{"prompt":"a","session":"x"}"#),
            row(2, r#"{"prompt":"b"}"#),
            row(3, r#"{"prompt":"c","session":"y","turn":9}"#),
            row(4, r#"{"prompt":"d","session":"x"}"#),
            row(5, r#"{"prompt":"e","session":"y","turn":4}"#),
        ];
        let rows = chained(rows).unwrap();
        assert_eq!(ids(&rows), [vec!["1", "4"], vec!["2"], vec!["5", "3"]]);
        assert_eq!(rows[2].later[0].turn.as_ref().unwrap().number, 1);
    }

    #[test]
    fn turns_without_a_place_are_refused() {
        for (second, part) in [
            (r#"{"prompt":"b","session":"x"}"#, "no `turn`"),
            (r#"{"prompt":"b","session":"x","turn":1}"#, "that of another row"),
        ] {
            let (line, problem) =
                chained(vec![row(1, r#"{"prompt":"a","session":"x","turn":1}"#), row(2, second)])
                    .unwrap_err();
            assert!(line == 2 && problem.contains(part), "{problem}");
        }
    }

    #[test]
    fn the_answer_is_carried_on() {
        let turn = |json: &str| row(1, json).turn.unwrap();
        let mut history = History::default();
        history.add(
            &turn(
                r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}],"session":1}"#,
            ),
            "b",
        );
        let prompt = history.prompt(&turn(r#"{"prompt":"c","session":1,"max_tokens":3}"#));
        assert_eq!(prompt.max_tokens, Some(3));
        let said: Vec<_> =
            prompt.messages.unwrap().iter().map(|message| message["content"].to_string()).collect();
        assert_eq!(said, ["\"s\"", "\"a\"", "\"b\"", "\"c\""]);
    }
}
