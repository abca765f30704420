//! One machine's part of a run of several.

use std::{fmt, str::FromStr};

/// Part `index` of `count`, the index counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// Whether row number `row`, counted from 0, is of this part.
    pub(crate) fn has(self, row: u64) -> bool {
        row % self.count == self.index - 1
    }

    /// What the run's name ends in, so that those of all parts differ.
    pub(crate) fn suffix(self) -> String {
        format!("-{}of{}", self.index, self.count)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').map(|(index, count)| (index.parse(), count.parse()));
        match numbers {
            Some((Ok(index), Ok(count))) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err("expected I/N, from 1/N to N/N".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_of_one_part() {
        let shards: Vec<Shard> = ["1/3", "2/3", "3/3"].iter().map(|text| text.parse().unwrap()).collect();
        for row in 0..9 {
            assert_eq!(shards.iter().filter(|shard| shard.has(row)).count(), 1);
        }
        assert!(shards[0].has(0));
        assert_eq!((shards[1].to_string().as_str(), shards[1].suffix().as_str()), ("2/3", "-2of3"));
        for text in ["0/3", "4/3", "1", "1/0", "a/b", "1/2/3"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
