//! The name of a column in the outputs: one that every warehouse takes without quotes.

/// Words most databases reserve that are likely as column names.
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

/// A carried column's name in the outputs: `[a-z0-9_]`, no digit first, no SQL keyword (those get a `_` behind).
pub fn column_name(name: &str) -> String {
    let fold = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let mut folded: String = name.trim().chars().map(fold).collect();
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
    fn a_name_becomes_one_that_every_warehouse_accepts() {
        for (name, expected) in [
            ("Customer No", "customer_no"),
            (" Branch-Code ", "branch_code"),
            ("2nd", "_2nd"),
            ("Order", "order_"),
            ("user", "user_"),
            ("Straße", "stra_e"),
            ("", "_"),
            ("\u{0130}d", "_d"),
        ] {
            assert_eq!(column_name(name), expected, "{name}");
        }
    }
}
