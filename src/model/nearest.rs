//! The valid names that are most similar to a wrong one. Every message about an unknown column, field or check suggests
//! them.

/// Names of about the same likeness are all suggested, up to this many.
const SUGGESTED_MAX: usize = 3;
/// The least likeness of a typing mistake.
const LIKENESS_LEAST: f64 = 0.5;
/// The likeness of a name that begins with the wrong one.
const LIKENESS_OF_BEGINNING: f64 = 0.9;
/// Names that are less similar than the best one by no more than this are about as similar.
const LIKENESS_ABOUT: f64 = 0.02;

/// The candidate most similar to `wrong`, if it is similar enough for a typing mistake.
pub fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    about_nearest(wrong, candidates).first().copied()
}

/// The candidates that are about equally similar to `wrong`, the best first, and at most three. Names that begin with it
/// are equally similar.
pub fn about_nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let fold = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let folded = fold(wrong);
    let with_likeness = |candidate: &'a str| {
        let other = fold(candidate);
        let begins = folded.len() >= 3 && other.starts_with(&folded);
        let likeness = strsim::normalized_damerau_levenshtein(&folded, &other);
        (if begins { likeness.max(LIKENESS_OF_BEGINNING) } else { likeness }, likeness, candidate)
    };
    let similar = candidates.into_iter().map(with_likeness).filter(|(likeness, ..)| *likeness >= LIKENESS_LEAST);
    let mut similar: Vec<(f64, f64, &'a str)> = similar.collect();
    similar.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let best = similar.first().map_or(0.0, |(likeness, ..)| *likeness);
    // A name that differs only in its case or its signs is the one that is meant.
    let least = if best >= 1.0 { best } else { best - LIKENESS_ABOUT };
    let about = similar.iter().take_while(|(likeness, ..)| *likeness >= least);
    about.map(|(.., candidate)| *candidate).take(SUGGESTED_MAX).collect()
}

/// `; did you mean …?`, or nothing: the end of an error message about an unknown name.
pub fn hint<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    suggestion(&about_nearest(wrong, candidates))
}

/// The same for names that were found already.
pub fn suggestion(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &names[..] {
        [] => String::new(),
        [only] => format!("; did you mean {only}?"),
        [before @ .., last] => format!("; did you mean {} or {last}?", before.join(", ")),
    }
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

    #[test]
    fn names_that_are_about_equally_near_are_all_suggested_up_to_three() {
        let cipc = ["cipc-company", "cipc-director", "vin-decode"];
        assert_eq!(hint("cipc", cipc), "; did you mean `cipc-company` or `cipc-director`?");
        assert_eq!(hint("cipc-compny", cipc), "; did you mean `cipc-company`?");
        assert_eq!(hint("CIPC_company", cipc), "; did you mean `cipc-company`?");
        let many = ["aml-ongoing-enrol", "aml-ongoing-rescreen", "aml-ongoing-withdraw", "aml-screening"];
        assert_eq!(hint("aml", many).matches("aml-").count(), 3, "{}", hint("aml", many));
        assert_eq!(hint("xyz", cipc), "");
    }
}
