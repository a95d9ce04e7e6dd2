//! What a template's text may say, looked at before it is compiled. MiniJinja finds an unknown filter only when a row gets
//! there, and prints `none` and an `if` without `else` as nothing: here they are refused at once.
//!
//! The decision it owns: which words and signs of a template need which care.

use super::{
    TemplateError,
    filters::{FILTERS, TESTS, Tables},
};
use crate::model::nearest::hint;

/// What is being compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text out of a row: every comparison with a missing value is a fault.
    Template,
    /// A yes or no: a missing value equals nothing, and has no order.
    Expression,
}

/// What was found in a template.
#[derive(Debug, Default)]
pub(super) struct Inspected {
    /// It has comparisons that a missing value must not decide: `<` and `>`, and in a template all.
    pub compares: bool,
    /// The columns of `row["…"]` and `row.…`.
    pub subscripts: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Text(&'a str),
    Sign(&'a str),
}

use Token::{Sign, Text, Word};

/// Looks at every piece of code in a template.
pub(super) fn inspect(source: &str, kind: Kind, tables: &Tables) -> Result<Inspected, TemplateError> {
    let mut inspected = Inspected::default();
    let mut rest = source;
    while let Some(at) = rest.find('{') {
        rest = &rest[at + 1..];
        let (end, statement) = match rest.bytes().next() {
            Some(b'{') => ("}}", false),
            Some(b'%') => ("%}", true),
            Some(b'#') => {
                rest = rest.find("#}").map_or("", |end| &rest[end + 2..]);
                continue;
            }
            _ => continue,
        };
        let (tokens, after) = tokens(&rest[1..], end);
        rest = after.unwrap_or_default();
        inspect_code(&tokens, statement, kind, tables, &mut inspected)?;
    }
    Ok(inspected)
}

/// Refuses an expression with an end in it: the engine panics where anything follows one.
pub(super) fn inspect_expression(source: &str) -> Result<(), TemplateError> {
    match tokens(source, "}}") {
        (_, None) => Ok(()),
        (_, Some(_)) => refuse("`}}` ends an expression that `{{` did not begin: an expression stands without them"),
    }
}

fn inspect_code(
    tokens: &[Token<'_>],
    statement: bool,
    kind: Kind,
    tables: &Tables,
    inspected: &mut Inspected,
) -> Result<(), TemplateError> {
    let tokens = match tokens {
        [Sign("-" | "+"), tokens @ ..] => tokens,
        tokens => tokens,
    };
    let (first, tokens) = match tokens {
        [Word(first), rest @ ..] if statement => (*first, rest),
        tokens => ("", tokens),
    };
    if ["include", "import", "from", "extends", "block", "raw"].contains(&first) {
        return refuse(format!("`{first}` is not available here: a template stands alone"));
    }
    check_inline_ifs(tokens, first)?;
    for (at, token) in tokens.iter().enumerate() {
        let before = |steps: usize| at.checked_sub(steps).map(|at| tokens[at]);
        let after = |steps: usize| tokens.get(at + steps).copied();
        match *token {
            Sign("<" | ">") => inspected.compares = true,
            Sign("==" | "!=") if kind == Kind::Template => inspected.compares = true,
            Word("in") if kind == Kind::Template && first != "for" => inspected.compares = true,
            Word("none" | "None") if before(1) != Some(Sign(".")) && !is_test_name(before(1), before(2)) => {
                return refuse("`none` would be printed as text; write `is none`, or `| default(…)`");
            }
            Word("row") if before(1) != Some(Sign(".")) => match (after(1), after(2), after(3)) {
                (Some(Sign("[")), Some(Text(name)), Some(Sign("]"))) => inspected.subscripts.push(name.to_owned()),
                (Some(Sign(".")), Some(Word(name)), _) => inspected.subscripts.push(name.to_owned()),
                _ => {}
            },
            Word("table") if before(1) == Some(Sign("|")) => {
                if let (Some(Sign("(")), Some(Text(name))) = (after(1), after(2))
                    && !tables.0.contains_key(name)
                {
                    return refuse(format!(
                        "no table is called `{name}`{}",
                        hint(name, tables.0.keys().map(|t| t.as_str()))
                    ));
                }
            }
            Word(name) if before(1) == Some(Sign("|")) && !FILTERS.contains(&name) => {
                return refuse(format!("no filter is called `{name}`{}", hint(name, FILTERS)));
            }
            Word(name) if is_test_name(before(1), before(2)) && name != "not" && !TESTS.contains(&name) => {
                return refuse(format!("no test is called `{name}`{}", hint(name, TESTS)));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a word stands after `is` or `is not`.
fn is_test_name(before: Option<Token<'_>>, before_that: Option<Token<'_>>) -> bool {
    matches!((before, before_that), (Some(Word("is")), _) | (Some(Word("not")), Some(Word("is"))))
}

/// `a if b` without `else` prints nothing where `b` is false: what then is to be said.
fn check_inline_ifs(tokens: &[Token<'_>], first: &str) -> Result<(), TemplateError> {
    // `{% for x in list if x %}` filters, and needs no `else`.
    let mut open = vec![if first == "for" { -1_i32 } else { 0 }];
    let unfinished = |count: Option<i32>| count.is_some_and(|count| count > 0);
    for token in tokens {
        match token {
            Sign("(" | "[" | "{") => open.push(0),
            Sign(")" | "]" | "}") if unfinished(open.pop()) => return refuse(UNFINISHED),
            Word("if") => open.iter_mut().last().into_iter().for_each(|count| *count += 1),
            Word("else") => open.iter_mut().last().into_iter().for_each(|count| *count -= 1),
            _ => {}
        }
    }
    if unfinished(open.pop()) { refuse(UNFINISHED) } else { Ok(()) }
}

const UNFINISHED: &str = "an `if` inside an expression needs its `else`: what is said where it does not hold";

fn refuse<T>(message: impl Into<String>) -> Result<T, TemplateError> {
    Err(TemplateError(message.into()))
}

/// The tokens up to `end`, and the text after it where it is there. Texts lose their quotes; numbers are words.
fn tokens<'a>(code: &'a str, end: &str) -> (Vec<Token<'a>>, Option<&'a str>) {
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    let mut rest = code;
    while let Some(letter) = rest.chars().next() {
        if depth == 0 && rest.starts_with(end) {
            return (tokens, Some(&rest[end.len()..]));
        }
        let length = match letter {
            '"' | '\'' => {
                let inner = text_length(&rest[1..], letter);
                tokens.push(Text(&rest[1..1 + inner]));
                (inner + 2).min(rest.len())
            }
            _ if letter.is_alphanumeric() || letter == '_' => {
                let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                tokens.push(Word(&rest[..length]));
                length
            }
            _ if letter.is_whitespace() => letter.len_utf8(),
            _ => {
                let length = if rest.starts_with("==") || rest.starts_with("!=") { 2 } else { letter.len_utf8() };
                match letter {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                tokens.push(Sign(&rest[..length]));
                length
            }
        };
        rest = &rest[length..];
    }
    (tokens, None)
}

/// The bytes up to the closing quote; a backslash takes the next letter along.
fn text_length(text: &str, quote: char) -> usize {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => _ = letters.next(),
            _ if letter == quote => return at,
            _ => {}
        }
    }
    text.len()
}
