//! Targets that make a request a good one.

/// Upper limits in ms, each of which a request must keep to count as good. A limit that was not given is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Goodput {
    /// Time to first token.
    pub ttft_ms: Option<f64>,
    /// Time per output token after the first. A request of one token has none, and keeps any limit (vLLM's rule).
    pub tpot_ms: Option<f64>,
    /// End-to-end latency.
    pub e2el_ms: Option<f64>,
}

impl Goodput {
    /// From pairs such as `ttft:200`. Of two for the same metric the later counts, as in vLLM.
    pub fn from_targets<'a>(targets: impl IntoIterator<Item = &'a Target>) -> Option<Self> {
        let mut goodput = None::<Self>;
        for target in targets {
            let limits = goodput.get_or_insert_default();
            let limit = match target.metric {
                Limited::Ttft => &mut limits.ttft_ms,
                Limited::Tpot => &mut limits.tpot_ms,
                Limited::E2el => &mut limits.e2el_ms,
            };
            *limit = Some(target.ms);
        }
        goodput
    }

    /// Whether a request with these times (seconds) keeps every limit. A time that was not measured keeps none.
    #[must_use]
    pub fn met(&self, ttft: Option<f64>, tpot: Option<f64>, e2el: Option<f64>) -> bool {
        [(self.ttft_ms, ttft), (self.tpot_ms, tpot), (self.e2el_ms, e2el)].into_iter().all(|(limit, secs)| {
            match (limit, secs) {
                (None, _) => true,
                (Some(ms), Some(secs)) => secs <= ms / 1e3,
                (Some(_), None) => false,
            }
        })
    }
}

/// One limit, as given on the command line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    metric: Limited,
    ms: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Limited {
    Ttft,
    Tpot,
    E2el,
}

impl std::str::FromStr for Target {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let pair = text.split_once(':').and_then(|(name, ms)| {
            let metric = match name {
                "ttft" => Limited::Ttft,
                "tpot" => Limited::Tpot,
                "e2el" => Limited::E2el,
                _ => return None,
            };
            let ms: f64 = ms.parse().ok()?;
            (ms >= 0.0).then_some(Self { metric, ms })
        });
        pair.ok_or_else(|| {
            "a target is ttft:MS, tpot:MS or e2el:MS (name files before --goodput, or after --)".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(texts: &[&str]) -> Option<Goodput> {
        let targets: Vec<Target> = texts.iter().map(|text| text.parse().unwrap()).collect();
        Goodput::from_targets(&targets)
    }

    #[test]
    fn targets_are_metric_and_milliseconds() {
        assert_eq!(targets(&[]), None);
        assert_eq!(
            targets(&["ttft:200", "tpot:4.5", "ttft:100"]),
            Some(Goodput { ttft_ms: Some(100.0), tpot_ms: Some(4.5), e2el_ms: None })
        );
        for text in ["ttft", "ttft:", "itl:5", "ttft:-1", "ttft:nan", "run.jsonl"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_limit_is_met_up_to_and_including_its_value() {
        let goodput = targets(&["ttft:200", "e2el:1000"]).unwrap();
        assert!(goodput.met(Some(0.2), None, Some(1.0)));
        assert!(!goodput.met(Some(0.201), None, Some(1.0)));
        assert!(!goodput.met(Some(0.2), None, None));
    }
}
