//! Figures for people.

/// A value with two decimals, as in the report, or as many as three significant digits need; counts whole.
pub(crate) fn value(value: f64, unit: &str) -> String {
    if value == 0.0 || (unit.is_empty() && value.fract() == 0.0) {
        return format!("{value:.0}");
    }
    let decimals = (2.0 - value.abs().log10().floor()).max(2.0) as usize;
    format!("{value:.decimals$}")
}

/// A signed percentage with one decimal.
pub(crate) fn percent(percent: f64) -> String {
    format!("{percent:+.1}%")
}

/// A signed difference.
pub(crate) fn signed(difference: f64, unit: &str) -> String {
    let sign = if difference > 0.0 { "+" } else { "" };
    format!("{sign}{}", value(difference, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_keep_three_digits() {
        for (number, unit, text) in [
            (12.3456, "ms", "12.35"),
            (0.0146, "ms", "0.0146"),
            (0.004, "req/s", "0.00400"),
            (1730.98, "tok/s", "1730.98"),
            (149.67, "ms", "149.67"),
            (100.0, "ms", "100.00"),
            (5.0, "ms", "5.00"),
            (0.0, "ms", "0"),
            (12.0, "", "12"),
            (3_200_000.0, "", "3200000"),
        ] {
            assert_eq!(value(number, unit), text);
        }
        assert_eq!(percent(-99.88), "-99.9%");
        assert_eq!(percent(0.0), "+0.0%");
        assert_eq!(signed(12.0, ""), "+12");
        assert_eq!(signed(-0.5, "ms"), "-0.500");
    }
}
