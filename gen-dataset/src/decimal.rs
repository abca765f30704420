//! Decimal numbers, read without a detour over floating point.

/// `text` times 10 to the `power`, rounded half up; `None` if it is not a number of 0 or more, or too large.
pub(crate) fn scaled(text: &str, power: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let kept: String = fraction.chars().chain(std::iter::repeat('0')).take(power).collect();
    let up = fraction.as_bytes().get(power).is_some_and(|digit| *digit >= b'5');
    format!("0{whole}{kept}").parse::<u64>().ok()?.checked_add(up.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_kept_and_rounded() {
        for (text, power, value) in [
            ("5", 6, Some(5_000_000)),
            ("0.0000005", 6, Some(1)),
            ("0.00000049", 6, Some(0)),
            ("46.680590", 6, Some(46_680_590)),
            ("27482", 3, Some(27_482_000)),
            ("27482.25", 3, Some(27_482_250)),
            (".5", 1, Some(5)),
            ("1.", 1, Some(10)),
            ("18446744073709551615", 0, Some(u64::MAX)),
            ("18446744073709551615", 1, None),
            ("-1", 6, None),
            ("1e3", 6, None),
            ("", 6, None),
            (".", 6, None),
        ] {
            assert_eq!(scaled(text, power), value, "{text}");
        }
    }
}
