//! Chooses the column for a field that the user did not map. A column matches if its name is that of the field or one
//! of its synonyms, ignoring case, spaces, `_`, `-` and `.`. The field's own name takes precedence over a synonym, and
//! two columns that match equally well are an error.

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
    let own = fold(&field.name);
    let synonyms: Vec<String> = field.synonyms.iter().map(|synonym| fold(synonym)).collect();
    [
        among(columns, |column| column == field.name),
        among(columns, |column| fold(column) == own),
        among(columns, |column| synonyms.contains(&fold(column))),
    ]
    .into_iter()
    .find(|found| *found != Match::Nothing)
    .unwrap_or(Match::Nothing)
}

fn among(columns: &[String], fits: impl Fn(&str) -> bool) -> Match<'_> {
    let mut fitting = columns.iter().filter(|column| fits(column));
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
    fn the_fields_own_name_precedes_a_synonym_and_a_tie_is_not_resolved() {
        assert_eq!(found(&["id_no", "ID Number"]), r#"Column("ID Number")"#);
        assert_eq!(found(&["id number", "idNumber"]), r#"Column("idNumber")"#);
        assert_eq!(found(&["id_no", "National ID"]), r#"Ambiguous("id_no", "National ID")"#);
        assert_eq!(found(&["idNumber", "idNumber"]), r#"Ambiguous("idNumber", "idNumber")"#);
    }
}
