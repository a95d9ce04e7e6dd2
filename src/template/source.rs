//! Checks the text of a template before it is compiled. MiniJinja reports an unknown filter only when a row reaches it,
//! and prints `none` and an `if` without `else` as nothing. Here they are refused at once.
//!
//! It decides which words and symbols of a template need special treatment.

use super::{
    error::TemplateError,
    filters::{TESTS, Tables},
    literal::unescaped,
    reference::{self, Entry, LISTED},
};
use crate::model::nearest::hint;

/// What is being compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceKind {
    /// A text from a row: every comparison with a missing value is a fault.
    Template,
    /// True or false: a missing value equals nothing, and has no order.
    Expression,
}

/// What was found in a template.
#[derive(Debug, Default)]
pub(super) struct Inspected {
    /// It has comparisons whose result must not depend on a missing value: `<` and `>`, and in a template all
    /// comparisons.
    pub compares: bool,
    /// The columns of `row["…"]` and `row.…`.
    pub subscripts: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    Text(&'a str),
    Symbol(&'a str),
}

use Token::{Symbol, Text, Word};

/// A token with its place in the code: its first byte, and the byte after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub token: Token<'a>,
    pub start: usize,
    pub end: usize,
}

/// The inside of a tag.
#[derive(Debug)]
pub(super) struct Code<'a> {
    /// `{{` or `{%`; empty for an expression without a tag.
    pub open: &'a str,
    pub text: &'a str,
    pub tokens: Vec<Place<'a>>,
    /// The end of the tag; empty if there is none.
    pub close: &'a str,
    pub is_statement: bool,
}

impl<'a> Code<'a> {
    /// The index of the token with the statement's name, after a `-` or `+` that controls trimming; `usize::MAX` if
    /// this is not a statement.
    pub(super) fn first_word_at(&self) -> usize {
        match self.tokens.first() {
            _ if !self.is_statement => usize::MAX,
            Some(Place { token: Symbol("-" | "+"), start: 0, .. }) => 1,
            _ => 0,
        }
    }

    /// The name of a statement.
    pub(super) fn first_word(&self) -> Option<&'a str> {
        match self.tokens.get(self.first_word_at()).map(|place| place.token) {
            Some(Word(word)) => Some(word),
            _ => None,
        }
    }
}

/// A part of a template.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    /// Text that is printed unchanged.
    Raw(&'a str),
    /// A comment with its braces.
    Comment(&'a str),
    Code(Code<'a>),
}

/// All pieces of a template, in order.
pub(super) fn pieces(source: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut raw, mut at) = (0, 0);
    while let Some(found) = source[at..].find('{') {
        let open = at + found;
        let is_statement = match source.as_bytes().get(open + 1) {
            Some(b'{') => false,
            Some(b'%') => true,
            Some(b'#') => {
                at = source[open..].find("#}").map_or(source.len(), |end| open + end + 2);
                pieces.extend([Piece::Raw(&source[raw..open]), Piece::Comment(&source[open..at])]);
                raw = at;
                continue;
            }
            _ => {
                at = open + 1;
                continue;
            }
        };
        let rest = &source[open + 2..];
        let (tokens, length, closed) = tokens(rest, if is_statement { "%}" } else { "}}" });
        at = open + 2 + length + if closed { 2 } else { 0 };
        pieces.push(Piece::Raw(&source[raw..open]));
        pieces.push(Piece::Code(Code {
            open: &source[open..open + 2],
            text: &rest[..length],
            tokens,
            close: &source[open + 2 + length..at],
            is_statement,
        }));
        raw = at;
    }
    pieces.push(Piece::Raw(&source[raw..]));
    pieces
}

/// Checks every piece of code in a template.
pub(super) fn inspect(source: &str, kind: SourceKind, tables: &Tables) -> Result<Inspected, TemplateError> {
    let mut inspected = Inspected::default();
    for piece in pieces(source) {
        if let Piece::Code(code) = piece {
            let tokens: Vec<Token<'_>> = code.tokens.iter().map(|place| place.token).collect();
            inspect_code(&tokens, code.is_statement, kind, tables, &mut inspected)?;
        }
    }
    Ok(inspected)
}

/// Refuses an expression that contains the end of a tag: MiniJinja panics if anything follows it.
pub(super) fn inspect_expression(source: &str) -> Result<Code<'_>, TemplateError> {
    match tokens(source, "}}") {
        (tokens, _, false) => Ok(Code { open: "", text: source, tokens, close: "", is_statement: false }),
        (_, _, true) => refuse("expected an expression without `{{` and `}}`, found `}}`; remove them"),
    }
}

fn inspect_code(
    tokens: &[Token<'_>],
    statement: bool,
    kind: SourceKind,
    tables: &Tables,
    inspected: &mut Inspected,
) -> Result<(), TemplateError> {
    let tokens = match tokens {
        [Symbol("-" | "+"), tokens @ ..] => tokens,
        tokens => tokens,
    };
    let (first, tokens) = match tokens {
        [Word(first), rest @ ..] if statement => (*first, rest),
        tokens => ("", tokens),
    };
    if ["include", "import", "from", "extends", "block", "raw"].contains(&first) {
        return refuse(format!("`{first}` is not available here: a template cannot use other templates"));
    }
    check_inline_ifs(tokens, first)?;
    for (at, token) in tokens.iter().enumerate() {
        let before = |steps: usize| at.checked_sub(steps).map(|at| tokens[at]);
        let after = |steps: usize| tokens.get(at + steps).copied();
        match *token {
            Symbol("<" | ">") => inspected.compares = true,
            Symbol("==" | "!=") if kind == SourceKind::Template => inspected.compares = true,
            Word("in") if kind == SourceKind::Template && first != "for" => inspected.compares = true,
            Word("none" | "None") if before(1) != Some(Symbol(".")) && !is_test_name(before(1), before(2)) => {
                return refuse("`none` would be printed as text; use `is none` or `| default(…)`");
            }
            Word("row") if before(1) != Some(Symbol(".")) => {
                inspected.subscripts.extend(column_of_row(&tokens[at + 1..]));
            }
            Word(name) if before(1) == Some(Symbol(".")) && after(1) == Some(Symbol("(")) => {
                let Some(method) = reference::method(name) else { return refuse(unknown_method(name)) };
                check_count(method, &tokens[at + 1..])?;
            }
            Word(name) if before(1) == Some(Symbol("|")) || first == "filter" && at == 0 => {
                let filter = known_filter(name)?;
                check_count(filter, &tokens[at + 1..])?;
                check_name_argument(name, &tokens[at + 1..], tables)?;
            }
            Word(name) if is_test_name(before(1), before(2)) && name != "not" => check_test(name)?,
            _ => {}
        }
    }
    Ok(())
}

/// The column in `row["…"]`, `row.get("…")` or `row.…`, from the tokens after `row`.
fn column_of_row(after: &[Token<'_>]) -> Option<String> {
    match after {
        [Symbol("["), Text(name), Symbol("]"), ..] | [Symbol("."), Word("get"), Symbol("("), Text(name), ..] => {
            Some(unescaped(name).into_owned())
        }
        [Symbol("."), Word(_), Symbol("("), ..] => None,
        [Symbol("."), Word(name), ..] => Some((*name).to_owned()),
        _ => None,
    }
}

fn known_filter(name: &str) -> Result<&'static Entry, TemplateError> {
    let unknown = || format!("there is no filter `{name}`{}; {LISTED}", hint(name, reference::filters()));
    reference::filter(name).ok_or_else(|| TemplateError(unknown()))
}

fn unknown_method(name: &str) -> String {
    let advice = match reference::filter(name) {
        Some(_) => format!("; there is a filter of this name: write `| {name}`"),
        None => hint(name, reference::methods()),
    };
    format!("there is no method `{name}`{advice}; {LISTED}")
}

fn check_test(name: &str) -> Result<(), TemplateError> {
    if TESTS.contains(&name) {
        return Ok(());
    }
    refuse(format!("there is no test `{name}`{}; the tests are {}", hint(name, TESTS), TESTS.join(", ")))
}

/// Checks the number of arguments of a call, from the tokens after its name.
fn check_count(entry: &Entry, after: &[Token<'_>]) -> Result<(), TemplateError> {
    let (least, most) = entry.arguments;
    let found = argument_count(after);
    if (least..=most).contains(&found) {
        return Ok(());
    }
    let expected = match (least, most) {
        (least, most) if found < least && most > least => format!("at least {least}"),
        (_, most) if found > most => format!("at most {most}"),
        (least, _) => least.to_string(),
    };
    refuse(format!(
        "`{}`: expected {expected} {} in its brackets, found {found}; write it as in `{}`",
        entry.name,
        if expected.ends_with(" 1") || expected == "1" { "argument" } else { "arguments" },
        entry.example
    ))
}

/// The number of arguments in the brackets with which the tokens begin.
fn argument_count(after: &[Token<'_>]) -> usize {
    let [Symbol("("), inside @ ..] = after else { return 0 };
    let (mut depth, mut count, mut is_empty) = (0_usize, 0, true);
    for token in inside {
        match token {
            Symbol(")" | "]" | "}") if depth == 0 => break,
            Symbol(",") if depth == 0 => {
                (count, is_empty) = (count + 1, true);
                continue;
            }
            Symbol("(" | "[" | "{") => depth += 1,
            Symbol(")" | "]" | "}") => depth -= 1,
            _ => {}
        }
        is_empty = false;
    }
    count + usize::from(!is_empty)
}

/// Checks an argument that is the name of a filter, a test or a table, from the tokens after the filter that has it.
fn check_name_argument(filter: &str, after: &[Token<'_>], tables: &Tables) -> Result<(), TemplateError> {
    let [Symbol("("), Text(name), Symbol(")" | ","), ..] = after else { return Ok(()) };
    match filter {
        "map" => known_filter(name).map(|_| ()),
        "select" | "reject" => check_test(name),
        "table" if !tables.0.contains_key(*name) => {
            refuse(format!("there is no table `{name}`{}", hint(name, tables.0.keys().map(|t| t.as_str()))))
        }
        _ => Ok(()),
    }
}

/// Whether a word follows `is` or `is not`.
fn is_test_name(before: Option<Token<'_>>, before_that: Option<Token<'_>>) -> bool {
    matches!((before, before_that), (Some(Word("is")), _) | (Some(Word("not")), Some(Word("is"))))
}

/// Refuses `a if b` without `else`, which prints nothing if `b` is false.
fn check_inline_ifs(tokens: &[Token<'_>], first: &str) -> Result<(), TemplateError> {
    // `{% for x in list if x %}` filters, and needs no `else`.
    let mut open = vec![if first == "for" { -1_i32 } else { 0 }];
    let unfinished = |count: Option<i32>| count.is_some_and(|count| count > 0);
    for token in tokens {
        match token {
            Symbol("(" | "[" | "{") => open.push(0),
            Symbol(")" | "]" | "}") if unfinished(open.pop()) => return refuse(UNFINISHED),
            Word("if") => open.iter_mut().last().into_iter().for_each(|count| *count += 1),
            Word("else") => open.iter_mut().last().into_iter().for_each(|count| *count -= 1),
            _ => {}
        }
    }
    if unfinished(open.pop()) { refuse(UNFINISHED) } else { Ok(()) }
}

const UNFINISHED: &str = "an `if` inside an expression needs an `else`, with the value to use if it is false";

pub(super) fn refuse<T>(message: impl Into<String>) -> Result<T, TemplateError> {
    Err(TemplateError(message.into()))
}

/// The tokens before `end`, the number of bytes before it, and whether it was found. Texts lose their quotes; numbers
/// are words.
fn tokens<'a>(code: &'a str, end: &str) -> (Vec<Place<'a>>, usize, bool) {
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(character) = code[at..].chars().next() {
        let rest = &code[at..];
        if depth == 0 && rest.starts_with(end) {
            return (tokens, at, true);
        }
        let (token, length) = match character {
            '"' | '\'' => {
                let inner = text_length(&rest[1..], character);
                (Some(Text(&rest[1..1 + inner])), (inner + 2).min(rest.len()))
            }
            '0'..='9' => {
                let length = number_length(rest);
                (Some(Word(&rest[..length])), length)
            }
            _ if character.is_alphanumeric() || character == '_' => {
                let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                (Some(Word(&rest[..length])), length)
            }
            _ if character.is_whitespace() => (None, character.len_utf8()),
            _ => {
                let of_two = ["==", "!=", "**", "//"].into_iter().any(|symbol| rest.starts_with(symbol));
                let length = if of_two { 2 } else { character.len_utf8() };
                match character {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                (Some(Symbol(&rest[..length])), length)
            }
        };
        tokens.extend(token.map(|token| Place { token, start: at, end: at + length }));
        at += length;
    }
    (tokens, code.len(), false)
}

/// The number of bytes of a number, as MiniJinja reads it: `1`, `1_000`, `0x1f`, `1.5`, `1e-5`.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let is_name = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    if let [b'0', b'b' | b'B' | b'o' | b'O' | b'x' | b'X', ..] = bytes {
        return 2 + bytes[2..].iter().take_while(|byte| byte.is_ascii_hexdigit() || **byte == b'_').count();
    }
    let (mut length, mut fraction, mut exponent) = (0, false, false);
    while let Some(byte) = bytes.get(length) {
        let before = length.checked_sub(1).map(|before| bytes[before]);
        match byte {
            b'0'..=b'9' | b'_' => {}
            b'.' if !fraction && !exponent => {
                let is_exponent = matches!(bytes.get(length + 1), Some(b'e' | b'E'))
                    && matches!(bytes.get(length + 2), Some(b'+' | b'-' | b'0'..=b'9'));
                if is_name(bytes.get(length + 1)) && !is_exponent {
                    break;
                }
                fraction = true;
            }
            b'e' | b'E' if !exponent => exponent = true,
            b'+' | b'-' if matches!(before, Some(b'e' | b'E')) => {}
            _ => break,
        }
        length += 1;
    }
    length
}

/// The number of bytes before the closing quote; a backslash escapes the next character.
fn text_length(text: &str, quote: char) -> usize {
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => _ = characters.next(),
            _ if character == quote => return at,
            _ => {}
        }
    }
    text.len()
}
