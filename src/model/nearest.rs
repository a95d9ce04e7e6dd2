//! The valid name that is most similar to a wrong one. Every message about an unknown column, field or check suggests
//! it.

/// The candidate most similar to `wrong`, if it is similar enough for a typing mistake.
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let folded = fold(wrong);
    candidates
        .into_iter()
        .map(|candidate| {
            let other = fold(candidate);
            let begins = folded.len() >= 3 && other.starts_with(&folded);
            let likeness = strsim::normalized_damerau_levenshtein(&folded, &other);
            (if begins { likeness.max(0.9) } else { likeness }, candidate)
        })
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// `; did you mean …?`, or nothing: the end of an error message about an unknown name.
pub fn hint<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(wrong, candidates).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_gets_a_suggestion_and_an_unrelated_name_does_not() {
        assert_eq!(nearest("max_credit", ["max_credits", "keep_balance"]), Some("max_credits"));
        assert_eq!(nearest("AML Screening", ["aml-screening", "said-verification"]), Some("aml-screening"));
        assert_eq!(nearest("aml", ["aml-screening", "said-verification"]), Some("aml-screening"));
        assert_eq!(nearest("xyz", ["max_credits"]), None);
    }
}
