//! The name of a column in the outputs. If its letters are Latin, every warehouse accepts it without quotes.

use std::ops::RangeInclusive;

/// Words that most databases reserve and that are likely column names.
const SQL_KEYWORDS: [&str; 58] = [
    "all",
    "and",
    "any",
    "as",
    "asc",
    "between",
    "by",
    "case",
    "cast",
    "check",
    "column",
    "constraint",
    "create",
    "cross",
    "current",
    "current_date",
    "current_user",
    "default",
    "delete",
    "desc",
    "distinct",
    "drop",
    "else",
    "end",
    "exists",
    "false",
    "for",
    "foreign",
    "from",
    "full",
    "grant",
    "group",
    "having",
    "in",
    "inner",
    "insert",
    "into",
    "is",
    "join",
    "key",
    "left",
    "like",
    "limit",
    "not",
    "null",
    "on",
    "or",
    "order",
    "primary",
    "right",
    "select",
    "table",
    "to",
    "true",
    "union",
    "user",
    "values",
    "where",
];

/// Accents that are characters of their own.
const ACCENTS: RangeInclusive<char> = '\u{300}'..='\u{36f}';

/// A carried column's name in the outputs: letters of any script in lower case, digits and `_`, with `_` before a leading
/// digit and after an SQL keyword.
pub fn column_name(name: &str) -> String {
    // The dot of a Turkish capital I is an accent in lower case.
    let is_kept = |c: char| c.is_alphanumeric() || ACCENTS.contains(&c);
    let fold = |c: char| if is_kept(c) { c } else { '_' };
    let mut folded: String = name.trim().to_lowercase().chars().map(fold).collect();
    if folded.is_empty() || folded.starts_with(|first: char| first.is_ascii_digit()) {
        folded.insert(0, '_');
    }
    if SQL_KEYWORDS.contains(&folded.as_str()) {
        folded.push('_');
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_letters_and_gets_no_other_characters() {
        for (name, expected) in [
            ("Customer No", "customer_no"),
            (" Branch-Code ", "branch_code"),
            ("2nd", "_2nd"),
            ("Order", "order_"),
            ("user", "user_"),
            ("Straße", "straße"),
            ("Имя", "имя"),
            ("名前", "名前"),
            ("ID №", "id__"),
            ("e\u{301}tat", "e\u{301}tat"),
            ("a\u{200b}b\u{202e}c", "a_b_c"),
            ("", "_"),
            ("\u{0130}d", "i\u{307}d"),
        ] {
            assert_eq!(column_name(name), expected, "{name}");
        }
    }
}
