//! Explains a template that MiniJinja cannot parse. Its own messages speak of identifiers and blocks; the mistakes that
//! people make most often are named here, with what to write.

use super::{
    error::TemplateError,
    source::{
        Code, Piece,
        Token::{self, Symbol, Word},
        pieces,
    },
};

/// Words that are not names of columns.
const KEYWORDS: [&str; 13] =
    ["and", "or", "not", "in", "is", "if", "else", "recursive", "true", "false", "none", "True", "False"];

/// The error of a template that cannot be parsed.
pub(super) fn explained(error: &minijinja::Error, source: &str) -> TemplateError {
    let codes = pieces(source).into_iter().filter_map(|piece| match piece {
        Piece::Code(code) => Some(code),
        Piece::Raw(_) | Piece::Comment(_) => None,
    });
    codes.into_iter().find_map(|code| mistake(&code)).map_or_else(|| as_said(error), TemplateError)
}

/// The same for the code of one expression.
pub(super) fn explained_expression(error: &minijinja::Error, code: &Code<'_>) -> TemplateError {
    mistake(code).map_or_else(|| as_said(error), TemplateError)
}

/// What MiniJinja says.
pub(super) fn as_said(error: &minijinja::Error) -> TemplateError {
    TemplateError(error.detail().map_or_else(|| error.kind().to_string(), str::to_owned))
}

fn mistake(code: &Code<'_>) -> Option<String> {
    assignment(code).or_else(|| other_operator(code)).or_else(|| spaced_name(code))
}

/// A `=` where nothing can be assigned.
fn assignment(code: &Code<'_>) -> Option<String> {
    let assigns = matches!(code.first_word(), Some("set" | "with"));
    // For each open bracket, whether it is that of a call, where `=` names an argument.
    let mut calls = Vec::new();
    for (at, place) in code.tokens.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| code.tokens[before]);
        match place.token {
            Symbol("(") => calls.push(match before.map(|before| before.token) {
                Some(Word(word)) => !KEYWORDS.contains(&word),
                Some(Symbol(")" | "]")) => true,
                _ => false,
            }),
            Symbol("[" | "{") => calls.push(false),
            Symbol(")" | "]" | "}") => _ = calls.pop(),
            Symbol("=") if !calls.last().copied().unwrap_or(assigns) => {
                let is_order =
                    before.is_some_and(|before| before.end == place.start && matches!(before.token, Symbol("<" | ">")));
                if !is_order {
                    return Some("found `=`, which compares nothing; did you mean `==`?".to_owned());
                }
            }
            _ => {}
        }
    }
    None
}

/// An operator of another language.
fn other_operator(code: &Code<'_>) -> Option<String> {
    let tokens = |at: usize| code.tokens.get(at).map(|place| place.token);
    (0..code.tokens.len()).find_map(|at| {
        let (found, meant) = match (tokens(at), tokens(at + 1)) {
            (Some(Symbol("&")), Some(Symbol("&"))) => ("&&", "and"),
            (Some(Symbol("|")), Some(Symbol("|"))) => ("||", "or"),
            (Some(Symbol("!")), _) => ("!", "not"),
            (Some(Symbol("<")), Some(Symbol(">"))) => ("<>", "!="),
            _ => return None,
        };
        Some(format!("found `{found}`; did you mean `{meant}`?"))
    })
}

/// The name of a column with spaces, written like a name of one word.
fn spaced_name(code: &Code<'_>) -> Option<String> {
    let first = if code.is_statement { code.first_word_at() + 1 } else { 0 };
    let is_name = |token: Token<'_>| matches!(token, Word(word) if !KEYWORDS.contains(&word));
    let mut at = first;
    while at < code.tokens.len() {
        let run = code.tokens[at..].iter().take_while(|place| is_name(place.token)).count();
        let is_test = at > 0 && matches!(code.tokens[at - 1].token, Word("is" | "not"));
        let begins_with_letter =
            matches!(code.tokens[at].token, Word(word) if !word.starts_with(|c: char| c.is_ascii_digit()));
        if run > 1 && !is_test && begins_with_letter {
            let words = code.tokens[at..at + run].iter().map(|place| &code.text[place.start..place.end]);
            let name = words.collect::<Vec<_>>().join(" ");
            let (open, close) = if code.open == "{{" { ("{{ ", " }}") } else { ("", "") };
            return Some(format!(
                "found `{name}`, which is more than one word; if it is a column, write `{open}row[\"{name}\"]{close}`"
            ));
        }
        at += run.max(1);
    }
    None
}
