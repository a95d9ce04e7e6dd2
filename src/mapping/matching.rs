//! Chooses the column for a required field that the user did not map. A column matches if its name is that of the field
//! or one of its synonyms, ignoring case, spaces, `_`, `-` and `.`. Two columns that match are an error: choosing one
//! of them could pay for the wrong subject.

use crate::catalogue::FieldSpec;

/// The result of the search among the columns.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Match<'a> {
    Column(&'a str),
    Ambiguous(&'a str, &'a str),
    Nothing,
}

/// The column that matches a field by name.
pub(super) fn match_column<'a>(field: &FieldSpec, columns: &'a [String]) -> Match<'a> {
    let known: Vec<String> = [&field.name].into_iter().chain(&field.synonyms).map(|name| fold(name)).collect();
    let mut fitting = columns.iter().filter(|column| known.contains(&fold(column)));
    match (fitting.next(), fitting.next()) {
        (None, _) => Match::Nothing,
        (Some(only), None) => Match::Column(only),
        (Some(first), Some(second)) => Match::Ambiguous(first, second),
    }
}

pub(super) fn fold(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace() && !"_-.".contains(*c)).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(columns: &[&str]) -> String {
        let field: FieldSpec =
            toml::from_str("name = 'idNumber'\nkind = 'text'\nsynonyms = ['id_no', 'national_id']").unwrap();
        let columns: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
        format!("{:?}", match_column(&field, &columns))
    }

    #[test]
    fn names_match_with_case_spaces_and_separators_ignored() {
        assert_eq!(found(&["a", " ID-Number "]), r#"Column(" ID-Number ")"#);
        assert_eq!(found(&["ID No."]), r#"Column("ID No.")"#);
        assert_eq!(found(&["identity"]), "Nothing");
    }

    #[test]
    fn two_columns_that_match_are_not_resolved_even_by_the_fields_own_name() {
        for (first, second) in
            [("id_no", "ID Number"), ("id number", "idNumber"), ("id_no", "National ID"), ("idNumber", "idNumber")]
        {
            assert_eq!(found(&[first, "other", second]), format!("Ambiguous({first:?}, {second:?})"));
        }
    }
}
