//! Every value that CPython and NumPy gave for a seed, with `==`.

#![allow(clippy::unwrap_used, reason = "all of it is test code, functions outside #[test] too")]
#![allow(clippy::float_cmp, reason = "the streams are the same to the last bit, or they are others")]

use rng::{
    numpy::{Generator, Legacy},
    python::Random,
};
use serde_json::Value;

fn golden(part: &str) -> Vec<(u64, Value)> {
    seeds(include_str!("golden.json"), part)
}

/// Made by vectors.py.
fn vectors(part: &str) -> Vec<(u64, Value)> {
    seeds(include_str!("vectors.json"), part)
}

fn seeds(text: &str, part: &str) -> Vec<(u64, Value)> {
    let mut file: Value = serde_json::from_str(text).unwrap();
    let Value::Object(seeds) = file[part].take() else { panic!("no {part}") };
    seeds.into_iter().map(|(seed, values)| (seed.parse().unwrap(), values)).collect()
}

#[track_caller]
fn ints<N: TryFrom<i128>>(values: &Value) -> Vec<N> {
    let int = |value: &Value| {
        value.as_i64().map_or_else(|| value.as_u64().unwrap().into(), i128::from).try_into().ok().unwrap()
    };
    values.as_array().unwrap().iter().map(int).collect()
}

#[track_caller]
fn floats(values: &Value) -> Vec<f64> {
    values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

fn take<T>(n: usize, draw: impl FnMut() -> T) -> Vec<T> {
    std::iter::repeat_with(draw).take(n).collect()
}

#[test]
fn python_draws_the_golden_values() {
    for (seed, values) in golden("python_random") {
        let mut random = Random::new(seed);
        assert_eq!(take(5, || random.random()), floats(&values["random"]), "{seed}");
        assert_eq!(take(3, || random.getrandbits(32)), ints::<u64>(&values["getrandbits32"]), "{seed}");
        let ten: Vec<u64> = (0..10).collect();
        let chosen = take(20, || *random.choice(&ten));
        assert_eq!(chosen, ints::<u64>(&values["choice_of_10"]), "{seed}");
        let mut items: Vec<u64> = (0..25).collect();
        random.shuffle(&mut items);
        assert_eq!(items, ints::<u64>(&values["shuffle25"]), "{seed}");
    }
}

#[test]
fn default_rng_draws_the_golden_values() {
    for (seed, values) in golden("numpy_default_rng") {
        let mut generator = Generator::new(seed);
        for (key, n, low, high) in [
            ("integers_0_151643", 12, 0, 151_643),
            ("integers_90_111", 12, 90, 111),
            ("integers_5_6", 3, 5, 6),
            ("integers_0_2p40", 4, 0, 1 << 40),
        ] {
            let drawn = take(n, || generator.integers(low, high));
            assert_eq!(drawn, ints::<i64>(&values[key]), "{seed} {key}");
        }
        assert_eq!(take(4, || generator.random()), floats(&values["random"]), "{seed}");
    }
}

#[test]
fn the_legacy_generator_draws_the_golden_values() {
    for (seed, values) in golden("numpy_legacy") {
        let seed = u32::try_from(seed).unwrap();
        for (key, shape, scale) in [
            ("gamma_shape1_scale_half", 1.0, 0.5),
            ("gamma_shape_2.5_scale_0.2", 2.5, 0.2),
            ("gamma_shape_0.5_scale_1", 0.5, 1.0),
        ] {
            let mut legacy = Legacy::new(seed);
            assert_eq!(take(10, || legacy.gamma(shape, scale)), floats(&values[key]), "{seed} {key}");
        }
        let mut legacy = Legacy::new(seed);
        let drawn = take(10, || legacy.randint(0, 151_643));
        assert_eq!(drawn, ints::<i64>(&values["randint_0_151643"]), "{seed}");
    }
}

#[test]
fn python_draws_words_of_any_width() {
    for (seed, values) in vectors("python_random") {
        let mut random = Random::new(seed);
        for pair in values["getrandbits"].as_array().unwrap() {
            let [bits, drawn] = ints::<u64>(pair)[..] else { panic!("{pair}") };
            assert_eq!(random.getrandbits(bits as u32), drawn, "{seed} {bits}");
        }
        for pair in values["below"].as_array().unwrap() {
            let [n, drawn] = ints::<u64>(pair)[..] else { panic!("{pair}") };
            assert_eq!(random.below(n), drawn, "{seed} {n}");
        }
        let items: Vec<u64> = (0..1000).collect();
        let chosen: Vec<u64> = random.choices(&items, 20).into_iter().copied().collect();
        assert_eq!(chosen, ints::<u64>(&values["choices"]), "{seed}");
        let last = take(1300, || random.random()).split_off(1297);
        assert_eq!(last, floats(&values["random"]), "{seed}");
    }
}

#[test]
fn default_rng_carries_half_words_across_calls() {
    for (seed, values) in vectors("numpy_default_rng") {
        let mut generator = Generator::new(seed);
        for call in values.as_array().unwrap() {
            let [low, high, drawn] = ints::<i64>(&call.as_array().unwrap()[..3].into())[..] else {
                panic!("{call}")
            };
            assert_eq!(generator.integers(low, high), drawn, "{seed} {low} {high}");
            assert_eq!(Some(generator.random()), call[3].as_f64(), "{seed} {low} {high}");
        }
    }
}

#[test]
fn the_legacy_generator_draws_any_range_and_shape() {
    for (seed, values) in vectors("numpy_legacy") {
        let mut legacy = Legacy::new(u32::try_from(seed).unwrap());
        for call in values["randint"].as_array().unwrap() {
            let [low, high, drawn] = ints::<i64>(call)[..] else { panic!("{call}") };
            assert_eq!(legacy.randint(low, high), drawn, "{seed} {low} {high}");
        }
        for call in values["gamma"].as_array().unwrap() {
            let [shape, drawn] = floats(call)[..] else { panic!("{call}") };
            assert_eq!(legacy.gamma(shape, 0.3), drawn, "{seed} {shape}");
        }
    }
}

/// Values printed by CPython and NumPy one at a time, in the order in which they were drawn.
#[test]
fn printed_values_are_drawn() {
    assert_eq!(Random::new(0).getrandbits(32), 3_626_764_237);
    assert_eq!(Legacy::new(0).randint(0, 1 << 32), 2_357_136_044);

    let mut items: Vec<u8> = (0..20).collect();
    Random::new(0).shuffle(&mut items);
    assert_eq!(items, [10, 18, 16, 14, 0, 17, 11, 2, 3, 9, 5, 7, 4, 19, 6, 15, 8, 1, 13, 12]);
    let seven: Vec<u8> = (0..7).collect();
    let mut random = Random::new(0);
    assert_eq!(take(10, || *random.choice(&seven)), [6, 3, 6, 3, 0, 2, 4, 3, 3, 6]);
    let choices = Random::new(0).choices(&seven, 10).into_iter().copied();
    assert!(choices.eq([5, 5, 2, 1, 3, 2, 5, 2, 3, 4]));

    let mut legacy = Legacy::new(0);
    let poisson = [
        0.079_587_450_816_311_01,
        0.125_593_076_296_583_78,
        0.092_322_314_580_406_89,
        0.078_720_115_231_727_08,
        0.055_104_849_109_549_93,
    ];
    assert_eq!(take(5, || legacy.gamma(1.0, 1.0 / 10.0)), poisson);
    for (shape, delays) in [
        (
            1.0,
            [
                0.046_926_808_997_685_91,
                0.301_012_143_091_752_1,
                0.131_674_569_354_544_94,
                0.091_294_255_377_595_33,
            ],
        ),
        (
            0.5,
            [
                0.028_056_060_125_239_285,
                0.131_803_606_568_437,
                0.004_868_363_233_101_258,
                0.000_674_741_200_501_161_8,
            ],
        ),
        (
            2.0,
            [
                0.119_683_969_493_461_83,
                0.074_723_236_510_779_38,
                0.069_114_179_218_547_68,
                0.069_115_114_716_590_03,
            ],
        ),
    ] {
        let mut legacy = Legacy::new(42);
        assert_eq!(take(4, || legacy.gamma(shape, 1.0 / (10.0 * shape))), delays, "{shape}");
    }
}

#[test]
fn a_clone_carries_what_is_left_over() {
    let (mut generator, mut legacy) = (Generator::new(3), Legacy::new(3));
    generator.integers(0, 10);
    legacy.gauss();
    let (mut ahead, mut legacy_ahead) = (generator.clone(), legacy.clone());
    assert_eq!(take(9, || ahead.integers(0, 10)), take(9, || generator.integers(0, 10)));
    assert_eq!(take(9, || legacy_ahead.gauss()), take(9, || legacy.gauss()));
}

#[test]
fn the_legacy_generator_goes_on_where_another_left_off() {
    let mut first = Legacy::new(5);
    for _ in 0..10 {
        // One, two and two words, more where they are rejected; none.
        first.randint(0, 151_643);
        first.randint(0, 1 << 40);
        first.double();
        first.randint(5, 6);
    }
    assert!(first.words_drawn() > 50, "{}", first.words_drawn());
    let mut second = Legacy::new(5);
    second.skip_words(first.words_drawn());
    assert_eq!(take(9, || second.gamma(0.5, 1.0)), take(9, || first.gamma(0.5, 1.0)));
}
