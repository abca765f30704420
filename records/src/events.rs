//! What a stream consisted of, event by event, and which events count as output.

use crate::Micros;

/// What one event of a stream was. A timing row keeps a letter for each, so that any tool's definition of TTFT,
/// ITL and latency can be applied to it later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// `r`: opens the answer with a role; no output.
    Role,
    /// `t`: thinking, in the field `reasoning`.
    Reasoning,
    /// `h`: thinking, in the field `reasoning_content` (which vLLM's client does not count).
    ReasoningContent,
    /// `c`: text.
    Content,
    /// `k`: a tool call or a part of one.
    ToolCall,
    /// `b`: an empty text and no role: a token without visible text, such as half a character.
    Blank,
    /// `s`: a finish reason with an empty text: the end-of-sequence token, or no token at all.
    Stop,
    /// `f`: a finish reason without any text field; no output.
    Finish,
    /// `u`: usage and nothing else.
    Usage,
    /// `e`: an error reported by the server.
    Error,
    /// `d`: the end marker, `[DONE]`.
    Done,
    /// `o`: anything else.
    Other,
    /// `w`: a whole answer in one piece, which was not streamed: output without a first token.
    Whole,
}

impl EventKind {
    /// All letters, in the order of the variants.
    pub const LETTERS: &'static str = "rthckbsfuedow";

    const ALL: [Self; 13] = [
        Self::Role,
        Self::Reasoning,
        Self::ReasoningContent,
        Self::Content,
        Self::ToolCall,
        Self::Blank,
        Self::Stop,
        Self::Finish,
        Self::Usage,
        Self::Error,
        Self::Done,
        Self::Other,
        Self::Whole,
    ];

    /// The kind of each byte: an answer has thousands of events, and they are asked for many times.
    const BY_BYTE: [Option<Self>; 256] = {
        let (mut table, mut at) = ([None; 256], 0);
        while at < Self::ALL.len() {
            table[Self::LETTERS.as_bytes()[at] as usize] = Some(Self::ALL[at]);
            at += 1;
        }
        table
    };

    /// The letter on the wire.
    #[must_use]
    pub fn letter(self) -> char {
        char::from(Self::LETTERS.as_bytes()[self as usize])
    }

    /// The kind with this letter.
    #[must_use]
    pub fn from_letter(letter: char) -> Option<Self> {
        u8::try_from(letter).ok().and_then(Self::from_byte)
    }

    fn from_byte(letter: u8) -> Option<Self> {
        Self::BY_BYTE[usize::from(letter)]
    }

    /// Whether it carries output whatever the rest of the stream says. A whole answer does not count: it has no first
    /// token, and no gaps.
    #[must_use]
    pub fn is_output(self) -> bool {
        matches!(
            self,
            Self::Reasoning | Self::ReasoningContent | Self::Content | Self::ToolCall | Self::Blank
        )
    }
}

/// The events of one stream.
///
/// Output is thinking, text, tool calls and blank tokens: vLLM 0.33's rule for chat, and `reasoning_content` besides.
/// A [`EventKind::Stop`] is output only if the server's usage counts more tokens than the events before it show:
/// then it stands for the end-of-sequence token (vLLM); otherwise it merely closes the stream (llama.cpp).
#[derive(Debug, Clone, Copy)]
pub struct Events<'a> {
    times: &'a [Micros],
    letters: &'a str,
    stop_is_output: bool,
}

impl<'a> Events<'a> {
    /// From a timing row's `events_us` and `events`, and the token count of the server's usage if it gave one.
    #[must_use]
    pub fn new(times: &'a [Micros], letters: &'a str, usage_tokens: Option<u64>) -> Self {
        let shown = letters.bytes().filter_map(EventKind::from_byte).filter(|kind| kind.is_output()).count();
        let stop_is_output = usage_tokens.is_some_and(|tokens| tokens > shown as u64);
        Self { times, letters, stop_is_output }
    }

    /// When each event that carried output was read, µs after the request was sent.
    #[must_use]
    pub fn output_times(self) -> impl DoubleEndedIterator<Item = Micros> + 'a {
        self.letters
            .bytes()
            .zip(self.times)
            .filter(move |(letter, _)| {
                EventKind::from_byte(*letter)
                    .is_some_and(|kind| kind.is_output() || (kind == EventKind::Stop && self.stop_is_output))
            })
            .map(|(_, time)| *time)
    }

    /// Time to first token: the first event that carried output.
    #[must_use]
    pub fn first_output(self) -> Option<Micros> {
        self.output_times().next()
    }

    /// End-to-end latency: the last event that carried output, or the whole answer.
    #[must_use]
    pub fn last_output(self) -> Option<Micros> {
        let is_whole = |(letter, _): &(u8, _)| EventKind::from_byte(*letter) == Some(EventKind::Whole);
        let whole = || self.letters.bytes().zip(self.times).find(is_whole);
        self.output_times().next_back().or_else(|| whole().map(|(_, time)| *time))
    }

    /// Inter-token latencies as vLLM counts them: the gap between each two consecutive events that carried output,
    /// one a gap however many tokens an event holds.
    pub fn gaps(self) -> impl Iterator<Item = Micros> + 'a {
        let mut last = None;
        self.output_times().filter_map(move |time| last.replace(time).map(|before| time - before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(us: &[u32]) -> Vec<Micros> {
        us.iter().map(|&us| Micros::new(f64::from(us))).collect()
    }

    fn outputs(us: &[u32], letters: &str, usage: Option<u64>) -> Vec<f64> {
        Events::new(&times(us), letters, usage).output_times().map(Micros::us).collect()
    }

    #[test]
    fn every_letter_names_one_kind() {
        for kind in EventKind::ALL {
            assert_eq!(EventKind::from_letter(kind.letter()), Some(kind));
        }
        assert_eq!(EventKind::from_letter('z'), None);
    }

    #[test]
    fn role_finish_usage_and_done_are_no_output() {
        assert_eq!(outputs(&[1, 50, 70, 71, 72, 73], "rccfud", Some(2)), [50.0, 70.0]);
    }

    #[test]
    fn thinking_of_either_spelling_is_output() {
        assert_eq!(outputs(&[10, 20, 30], "thc", Some(3)), [10.0, 20.0, 30.0]);
    }

    #[test]
    fn a_stop_counts_only_when_usage_has_a_token_for_it() {
        assert_eq!(outputs(&[10, 20, 30], "ccs", Some(3)), [10.0, 20.0, 30.0]);
        assert_eq!(outputs(&[10, 20, 30], "ccs", Some(2)), [10.0, 20.0]);
        assert_eq!(outputs(&[10, 20, 30], "ccs", None), [10.0, 20.0]);
        assert!(outputs(&[10], "s", Some(0)).is_empty());
    }

    #[test]
    fn a_whole_answer_has_an_end_alone() {
        let times = times(&[90]);
        let events = Events::new(&times, "w", Some(3));
        assert_eq!((events.first_output(), events.last_output()), (None, Some(times[0])));
        assert_eq!(events.gaps().count(), 0);
    }

    #[test]
    fn gaps_lie_between_outputs_only() {
        let times = times(&[1, 50, 70, 90, 95]);
        let gaps: Vec<f64> = Events::new(&times, "rcccu", Some(3)).gaps().map(Micros::us).collect();
        assert_eq!(gaps, [20.0, 20.0]);
    }
}
