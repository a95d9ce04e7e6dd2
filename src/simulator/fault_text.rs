//! The words in a list of faults: durations, and names that no fault has.

use jiff::{Span, SpanRelativeTo};
use std::time::Duration;

/// A duration such as `50m` or `1h 30m`. A day has 24 hours.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let span: Span = text.trim().parse().ok()?;
    Duration::try_from(span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?).ok()
}

/// `; did you mean …?` with up to three names that are about equally similar to a wrong one, or nothing.
pub(super) fn hint<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let fold = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let wrong = fold(wrong);
    let ranked = |name: &'a str| {
        let likeness = strsim::normalized_damerau_levenshtein(&wrong, &fold(name));
        let begins = wrong.len() >= 3 && fold(name).starts_with(&wrong);
        (if begins { likeness.max(0.9) } else { likeness }, likeness, name)
    };
    let mut similar: Vec<_> = names.into_iter().map(ranked).filter(|(rank, ..)| *rank >= 0.5).collect();
    similar.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let best = similar.first().map_or(0.0, |(rank, ..)| *rank);
    let least = if best >= 1.0 { best } else { best - 0.02 };
    let near = similar.iter().filter(|(rank, ..)| *rank >= least).take(3);
    let near: Vec<String> = near.map(|(.., name)| format!("`{name}`")).collect();
    match &near[..] {
        [] => String::new(),
        [only] => format!("; did you mean {only}?"),
        [before @ .., last] => format!("; did you mean {} or {last}?", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_gets_the_nearest_names_and_another_word_gets_none() {
        let names = ["state_401", "state_404", "state_html", "lost"];
        assert_eq!(hint("lots", names), "; did you mean `lost`?");
        assert_eq!(hint("state_40", names), "; did you mean `state_401` or `state_404`?");
        assert_eq!(hint("STATE-404", names), "; did you mean `state_404`?");
        assert_eq!(hint("xyz", names), "");
    }

    #[test]
    fn a_duration_has_a_unit_and_is_not_negative() {
        let seconds = ["0ms", "1h 30m", " 2 days ", "1500ms"].map(|text| duration(text).unwrap().as_secs_f64());
        assert_eq!(seconds, [0.0, 5_400.0, 172_800.0, 1.5]);
        assert!(["", "5", "-5m", "1 month", "soon"].iter().all(|text| duration(text).is_none()));
    }
}
