//! The engine's behaviour as tables: no clock, no network.

use super::*;

const CONFIG: BatchingConfig = BatchingConfig {
    step_base_us: 10_000.0,
    step_per_seq_us: 100.0,
    prefill_us_per_token: 50.0,
    max_num_seqs: 8,
    max_num_batched_tokens: 1000,
    kv_cache_tokens: 16_000,
    prefix_caching: false,
    chunked_prefill: true,
};

fn sequence(id: u64, prompt_tokens: u32, output_tokens: u32) -> Sequence {
    let blocks = (0..u64::from(prompt_tokens / BLOCK_TOKENS)).map(|block| id * 10_000 + block).collect();
    Sequence { id, prompt_tokens, blocks, output_tokens }
}

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// Submits `sequences` at time 0 and runs until all is done.
fn run(config: BatchingConfig, sequences: impl IntoIterator<Item = Sequence>) -> (Vec<Token>, Batching) {
    let mut engine = Batching::new(config);
    for sequence in sequences {
        engine.submit(Duration::ZERO, sequence);
    }
    let mut tokens = Vec::new();
    while let Some(due) = engine.due() {
        tokens.extend(engine.emit(due));
    }
    (tokens, engine)
}

fn first(tokens: &[Token], id: u64) -> Duration {
    tokens.iter().find(|token| token.id == id && token.index == 0).map(|token| token.due).unwrap()
}

fn end(tokens: &[Token]) -> Duration {
    tokens.last().unwrap().due
}

#[test]
fn a_step_costs_base_plus_sequences_plus_prefill() {
    let (tokens, _) = run(CONFIG, [sequence(1, 100, 3)]);
    let due: Vec<Duration> = tokens.iter().map(|token| token.due).collect();
    assert_eq!(due, [us(15_100), us(25_200), us(35_300)]);
    assert_eq!(tokens.iter().map(|token| token.last).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn throughput_rises_with_the_batch_and_each_token_gets_slower() {
    let rate = |batch: u64| {
        let (tokens, _) = run(CONFIG, (0..batch).map(|id| sequence(id, 16, 50)));
        tokens.len() as f64 / end(&tokens).as_secs_f64()
    };
    assert!(rate(4) > 3.5 * rate(1) && rate(4) < 4.0 * rate(1));
    assert!(rate(8) > 1.8 * rate(4));
}

#[test]
fn what_exceeds_the_batch_waits_for_a_place() {
    let (tokens, _) = run(CONFIG, (0..16).map(|id| sequence(id, 16, 50)));
    let last_of_first_batch = tokens.iter().find(|token| token.last).unwrap().due;
    for id in 0..8 {
        assert!(first(&tokens, id) < us(20_000));
        assert!(first(&tokens, id + 8) > last_of_first_batch);
    }
}

#[test]
fn chunked_prefill_bounds_the_step_while_others_decode() {
    let longest_gap = |chunked_prefill: bool| {
        let config = BatchingConfig { chunked_prefill, max_num_batched_tokens: 200, ..CONFIG };
        let (tokens, _) = run(config, [sequence(1, 16, 60), sequence(2, 4000, 2)]);
        let due: Vec<Duration> = tokens.iter().filter(|token| token.id == 1).map(|token| token.due).collect();
        due.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap()
    };
    assert_eq!(longest_gap(true), us(10_000 + 2 * 100 + 199 * 50));
    assert_eq!(longest_gap(false), us(10_000 + 2 * 100 + 4000 * 50));
}

#[test]
fn a_known_prefix_is_not_computed_again() {
    let config = BatchingConfig { prefix_caching: true, ..CONFIG };
    let again = Sequence { id: 2, ..sequence(1, 960, 1) };
    let mut engine = Batching::new(config);
    let mut ttft = |sequence: Sequence, at: Duration| {
        engine.submit(at, sequence);
        let due = engine.due().unwrap();
        (due.checked_sub(at).unwrap(), engine.emit(due)[0].cached_tokens)
    };
    assert_eq!(ttft(sequence(1, 960, 1), us(0)), (us(10_000 + 100 + 960 * 50), 0));
    // All but the last block: one token at least has to be computed.
    assert_eq!(ttft(again, us(1_000_000)), (us(10_000 + 100 + 16 * 50), 944));
    assert_eq!((engine.load().prefix_queries, engine.load().prefix_hits), (1920, 944));
}

#[test]
fn without_prefix_caching_nothing_is_found() {
    let again = Sequence { id: 2, ..sequence(1, 960, 1) };
    let (tokens, engine) = run(CONFIG, [sequence(1, 960, 1), again]);
    assert!(tokens.iter().all(|token| token.cached_tokens == 0));
    assert_eq!(engine.load().prefix_queries, 0);
}

#[test]
fn a_full_cache_keeps_prompts_waiting() {
    let config = BatchingConfig { kv_cache_tokens: 1024, max_num_batched_tokens: 2000, ..CONFIG };
    let (tokens, engine) = run(config, [sequence(1, 600, 5), sequence(2, 600, 5)]);
    assert!(first(&tokens, 2) > tokens.iter().find(|token| token.id == 1 && token.last).unwrap().due);
    assert_eq!(engine.load().preemptions, 0);
}

#[test]
fn a_cache_that_fills_up_preempts_the_latest_which_still_gets_all_its_tokens() {
    let config = BatchingConfig { kv_cache_tokens: 320, ..CONFIG };
    let (tokens, engine) = run(config, [sequence(1, 140, 100), sequence(2, 140, 100)]);
    assert!(engine.load().preemptions > 0);
    for id in [1, 2] {
        let indices: Vec<u32> =
            tokens.iter().filter(|token| token.id == id).map(|token| token.index).collect();
        assert_eq!(indices, (0..100).collect::<Vec<_>>());
    }
    let finished = |id| tokens.iter().find(|token| token.id == id && token.last).unwrap().due;
    assert!(finished(1) < finished(2));
    assert_eq!(engine.load(), Load { preemptions: engine.load().preemptions, ..loads(280, 200) });
}

fn loads(prompt_tokens: u64, generated_tokens: u64) -> Load {
    Load { prompt_tokens, generated_tokens, ..Load::default() }
}

#[test]
fn a_cancelled_sequence_frees_its_place_and_its_cache() {
    let mut engine = Batching::new(BatchingConfig { max_num_seqs: 1, ..CONFIG });
    engine.submit(us(0), sequence(1, 100, 1000));
    engine.submit(us(0), sequence(2, 100, 1));
    let due = engine.due().unwrap();
    assert_eq!(engine.emit(due)[0].id, 1);
    engine.cancel(1);
    assert_eq!((engine.load().running, engine.load().waiting), (0, 1));
    assert!(engine.load().kv_usage < 1e-9);
    let due = engine.due().unwrap();
    assert_eq!(engine.emit(due)[0].id, 2);
    assert_eq!(engine.due(), None);
}

#[test]
fn a_step_that_is_noticed_late_does_not_delay_the_next() {
    let mut engine = Batching::new(CONFIG);
    engine.submit(us(0), sequence(1, 100, 3));
    assert_eq!(engine.due(), Some(us(15_100)));
    engine.emit(us(17_000));
    assert_eq!(engine.due(), Some(us(25_200)));
}

#[test]
fn a_request_to_an_idle_engine_starts_a_step_at_once() {
    let mut engine = Batching::new(CONFIG);
    engine.submit(us(500_000), sequence(1, 100, 1));
    assert_eq!(engine.due(), Some(us(515_100)));
    // One that comes during a step has to wait for its end.
    engine.submit(us(501_000), sequence(2, 100, 1));
    engine.emit(us(515_100));
    assert_eq!(engine.due(), Some(us(530_200)));
}
