//! How a template reads a column, or a part of a JSON column: the one place that writes such expressions, for hints in
//! messages and for the campaign file of `rescreen init`. What it writes always compiles.

/// One step of a path below a column.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    Member(String),
    /// The item at this place of a list.
    At(usize),
    /// The first item of a list that has what follows.
    First,
}

/// A column in a template: by its name if that is a word, else as `row["…"]`.
pub fn column_expression(column: &str) -> String {
    if is_word(column) && !RESERVED.contains(&column) {
        return column.to_owned();
    }
    format!("row[{}]", template_text(column))
}

/// The expression for a path such as `names[0].full` or `FEATURES[].ADDR_COUNTRY`; `None` if the text is no path.
pub fn path_expression(path: &str) -> Option<String> {
    let end = path.find(['.', '['])?;
    let steps = steps(&path[end..])?;
    let mut text = column_expression(path.get(..end).filter(|root| !root.is_empty())?);
    let mut is_filtered = false;
    let mut steps = steps.iter().peekable();
    while let Some(step) = steps.next() {
        match step {
            PathStep::First => {
                match steps.peek() {
                    Some(PathStep::Member(member)) => {
                        text.push_str(&format!(" | map(attribute='{member}') | select | first"));
                        steps.next();
                    }
                    _ => text.push_str(" | select | first"),
                }
                is_filtered = true;
            }
            PathStep::Member(_) | PathStep::At(_) => {
                if is_filtered {
                    text = format!("({text})");
                    is_filtered = false;
                }
                match step {
                    PathStep::Member(member) if !RESERVED.contains(&member.as_str()) => {
                        text.push_str(&format!(".{member}"));
                    }
                    PathStep::Member(member) => text.push_str(&format!("[{}]", template_text(member))),
                    PathStep::At(at) => text.push_str(&format!("[{at}]")),
                    PathStep::First => {}
                }
            }
        }
    }
    Some(text)
}

fn steps(mut rest: &str) -> Option<Vec<PathStep>> {
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            steps.push(PathStep::Member(after.get(..end).filter(|name| is_word(name))?.to_owned()));
            rest = &after[end..];
        } else {
            let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(if inside.is_empty() { PathStep::First } else { PathStep::At(inside.parse().ok()?) });
            rest = after;
        }
    }
    Some(steps)
}

/// Words that mean something else in a template.
const RESERVED: [&str; 27] = [
    "row",
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "else",
    "elif",
    "endif",
    "for",
    "endfor",
    "set",
    "endset",
    "true",
    "false",
    "none",
    "True",
    "False",
    "None",
    "loop",
    "namespace",
    "range",
    "dict",
    "debug",
    "self",
    "super",
];

/// A text as a literal of a template.
fn template_text(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // Tags inside a text would end the template, or begin another.
            '{' | '}' | '%' | '#' | '\0'..='\u{1f}' | '\u{7f}' => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a text is one word of a template.
pub fn is_word(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Templates;

    #[test]
    fn every_path_becomes_an_expression_that_compiles() {
        for (path, expression) in [
            ("FEATURES[].ADDR_COUNTRY", "FEATURES | map(attribute='ADDR_COUNTRY') | select | first"),
            ("names[0].full", "names[0].full"),
            ("who.name", "who.name"),
            ("who.in", r#"who["in"]"#),
            ("Full Name.first", r#"row["Full Name"].first"#),
            ("list[]", "list | select | first"),
            ("list[].a.b", "(list | map(attribute='a') | select | first).b"),
            ("in[].a[2]", r#"(row["in"] | map(attribute='a') | select | first)[2]"#),
        ] {
            let found = path_expression(path).unwrap();
            assert_eq!(found, expression, "{path}");
            let template = format!("{{{{ {found} }}}}");
            Templates::default().compile(&template).unwrap_or_else(|error| panic!("{template}: {error}"));
        }
        for other in ["a", "", ".a", "[0]", "a.", "a..b", "a[", "a[x]", "a]", "a.b c", "a[0]b", "a.'b'"] {
            assert_eq!(path_expression(other), None, "{other}");
        }
    }

    #[test]
    fn every_column_becomes_an_expression_that_compiles() {
        for column in ["a", "Full Name", "in", "a.b", "x[0]", "a}}b", "{% x", "a\"b\\", "é", "a\nb", "5"] {
            let template = format!("{{{{ {} }}}}", column_expression(column));
            let compiled =
                Templates::default().compile(&template).unwrap_or_else(|error| panic!("{template}: {error}"));
            assert_eq!(compiled.columns().iter().map(String::as_str).collect::<Vec<_>>(), [column]);
        }
    }
}
