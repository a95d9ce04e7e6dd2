//! Names of sheets. Spreadsheet programs refuse a workbook with a name that is too long, has certain characters, or
//! differs from another only in its case.

use std::collections::HashSet;

/// The most characters of a name, in UTF-16 units.
const NAME_MAX: usize = 31;

/// The names that are taken.
#[derive(Debug, Default)]
pub struct SheetNames(HashSet<String>);

impl SheetNames {
    /// `taken` are names that no other sheet gets.
    pub fn with(taken: &[&str]) -> SheetNames {
        SheetNames(taken.iter().map(|name| name.to_lowercase()).collect())
    }

    /// A valid name, similar to the wanted one, that no sheet has.
    pub fn unique(&mut self, wanted: &str) -> String {
        let name = valid(wanted);
        for number in 1_u64.. {
            let ending = if number == 1 { String::new() } else { format!(" ({number})") };
            let name = beginning(&name, NAME_MAX - ending.len()).to_owned() + &ending;
            if self.0.insert(name.to_lowercase()) {
                return name;
            }
        }
        name
    }
}

fn valid(wanted: &str) -> String {
    let is_refused = |c: char| c.is_control() || "[]:*?/\\".contains(c) || matches!(c, '\u{fffe}' | '\u{ffff}');
    let mut name: String = wanted.trim().chars().map(|c| if is_refused(c) { '_' } else { c }).collect();
    if name.starts_with('\'') {
        name.replace_range(..1, "_");
    }
    if name.ends_with('\'') {
        name.replace_range(name.len() - 1.., "_");
    }
    // Spreadsheet programs use this name for themselves.
    if name.is_empty() || name.to_lowercase() == "history" { name + "_" } else { name }
}

/// The beginning of a name, of at most this many units.
fn beginning(name: &str, units_max: usize) -> &str {
    let mut units = 0;
    let end = name.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > units_max
    });
    name[..end.map_or(name.len(), |(at, _)| at)].trim_end_matches(['\'', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_unique_whatever_their_case() {
        let mut names = SheetNames::with(&["failures", "summary"]);
        for (wanted, expected) in [
            ("aml-screening", "aml-screening"),
            ("AML-screening", "AML-screening (2)"),
            ("failures", "failures (2)"),
            ("Summary", "Summary (2)"),
            ("a/b:c*[d]?\\", "a_b_c__d___"),
            ("'quoted'", "_quoted_"),
            ("'", "_"),
            ("History", "History_"),
            ("", "_ (2)"),
            ("a-check-with-a-name-of-more-than-31-characters", "a-check-with-a-name-of-more-tha"),
            ("a-check-with-a-name-of-more-than-31 too", "a-check-with-a-name-of-more (2)"),
            ("a-check-with-a-name-of-more-than-31 and", "a-check-with-a-name-of-more (3)"),
            ("😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀", "😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀"),
        ] {
            assert_eq!(names.unique(wanted), expected, "{wanted}");
        }
    }
}
