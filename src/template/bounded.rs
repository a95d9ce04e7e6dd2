//! Replaces the unbounded operators of a template by filters that count what they make (see `operators`).
//!
//! | in the template | becomes |
//! |---|---|
//! | `a ~ b ~ c` | `[a, b, c]\|op_joined`, and the same with `+` and `*` |
//! | `a[1:2]` | `(a\|op_slice(1,2,none))` |
//! | `[a]`, `{'a': b}` | `([a]\|op_literal)` |
//! | `a in b` | `(a)\|op_sought in b` |
//! | a long text between two tags | `{{ 'the text' }}` |
//!
//! Line numbers do not change, because messages show them.

use super::{
    error::TemplateError,
    nesting::{BRACKETS_MAX, Statements, brackets},
    operators::{JOINED, LITERAL, PRODUCT, SLICE, SOUGHT, SUM},
    source::{Code, Piece, Place, Token, pieces, refuse},
    spent::SOURCE_BYTES_MAX,
};
use Token::{Symbol, Text, Word};

/// Maximum bytes of text between two tags that MiniJinja may copy without counting them.
const RAW_BYTES_MAX: usize = 200;
/// Maximum spaces at each end of the text between two tags.
const SPACES_MAX: usize = 200;

/// The template with its operators replaced.
pub(super) fn bounded(source: &str) -> Result<String, TemplateError> {
    if source.len() > SOURCE_BYTES_MAX {
        return refuse(format!("expected a template of at most 64 KiB, found {} bytes", source.len()));
    }
    let mut out = String::with_capacity(source.len() * 2);
    let mut statements = Statements::default();
    for piece in pieces(source) {
        match piece {
            Piece::Raw(text) => raw(text, &mut out)?,
            Piece::Comment(text) => out.push_str(text),
            Piece::Code(code) => {
                statements.enter(&code)?;
                out.push_str(code.open);
                out.push_str(&expression(&code)?);
                out.push_str(code.close);
            }
        }
    }
    Ok(out)
}

/// Text between two tags. Whitespace that MiniJinja may trim stays outside the literal.
fn raw(text: &str, out: &mut String) -> Result<(), TemplateError> {
    if text.len() <= RAW_BYTES_MAX {
        out.push_str(text);
        return Ok(());
    }
    let inner = text.trim();
    let start = text.len() - text.trim_start().len();
    let (before, after) = (&text[..start], &text[start + inner.len()..]);
    if before.len().max(after.len()) > SPACES_MAX {
        return refuse(format!("expected at most {SPACES_MAX} spaces in a row in a template, found more"));
    }
    out.push_str(before);
    if !inner.is_empty() {
        let quoted = inner.replace('\\', "\\\\").replace('\'', "\\'");
        out.push_str(&format!("{{{{ '{quoted}' }}}}"));
    }
    out.push_str(after);
    Ok(())
}

/// The code of one tag, without its braces.
pub(super) fn expression(code: &Code<'_>) -> Result<String, TemplateError> {
    let closing = brackets(code)?;
    let rewriter = Rewriter { code, closing };
    let mut loop_target = code.is_statement && code.first_word() == Some("for");
    let (text, _) = rewriter.sequence(0, code.tokens.len(), &mut loop_target)?;
    Ok(text + &code.text[code.tokens.last().map_or(0, |last| last.end)..])
}

struct Rewriter<'a> {
    code: &'a Code<'a>,
    closing: Vec<usize>,
}

/// Rewritten text, and the index of the token after it.
type Rewritten = Result<(String, usize), TemplateError>;

impl<'a> Rewriter<'a> {
    fn token(&self, at: usize) -> Option<Token<'a>> {
        self.code.tokens.get(at).map(|place| place.token)
    }

    /// The whitespace between a token and the one before it.
    fn gap(&self, at: usize) -> &'a str {
        let begin = at.checked_sub(1).map_or(0, |before| self.code.tokens[before].end);
        &self.code.text[begin..self.code.tokens[at].start]
    }

    /// A token as written, with the whitespace before it.
    fn as_is(&self, at: usize) -> &'a str {
        let Place { start, end, .. } = self.code.tokens[at];
        &self.code.text[start - self.gap(at).len()..end]
    }

    /// A sequence of expressions and their separators.
    fn sequence(&self, from: usize, to: usize, loop_target: &mut bool) -> Rewritten {
        let (mut out, mut at) = (String::new(), from);
        while at < to {
            if self.parts(at, from, to) {
                out.push_str(self.as_is(at));
                at += 1;
                continue;
            }
            let (text, next) = self.sum(at, to)?;
            let is_sought = match (self.token(next), self.token(next + 1)) {
                (Some(Word("in")), _) => !std::mem::take(loop_target),
                (Some(Word("not")), Some(Word("in"))) => true,
                _ => false,
            };
            if is_sought && next < to {
                out.push_str(&format!(" ({text})|{SOUGHT}"))
            } else {
                out.push_str(&text)
            }
            at = next;
        }
        Ok((out, at))
    }

    /// Whether a token separates expressions.
    fn parts(&self, at: usize, from: usize, to: usize) -> bool {
        match self.token(at) {
            // The `-` or `+` of a tag that controls trimming, or one where no expression can begin.
            Some(Symbol("-" | "+")) => at == 0 && from == 0 && self.gap(0).is_empty() || at + 1 == to,
            Some(Symbol("(" | "[" | "{") | Text(_)) => false,
            Some(Symbol("*" | "**")) => false,
            Some(Symbol(_)) => true,
            Some(Word(word)) => {
                ["and", "or", "not", "in", "if", "else", "recursive"].contains(&word)
                    || (from == 0 && at == self.code.first_word_at())
            }
            None => true,
        }
    }

    /// `a + b - c`.
    fn sum(&self, at: usize, to: usize) -> Rewritten {
        self.chain(at, to, &["-"], "+", SUM, Self::joined)
    }

    fn joined(&self, at: usize, to: usize) -> Rewritten {
        self.chain(at, to, &[], "~", JOINED, Self::product)
    }

    fn product(&self, at: usize, to: usize) -> Rewritten {
        self.chain(at, to, &["/", "//", "%"], "*", PRODUCT, Self::power)
    }

    fn power(&self, at: usize, to: usize) -> Rewritten {
        self.chain(at, to, &["**"], "", "", Self::operand)
    }

    /// Operands with operators of one precedence level between them. Operands of `counted` become one list for a
    /// filter.
    fn chain(
        &self,
        at: usize,
        to: usize,
        kept: &[&str],
        counted: &str,
        filter: &str,
        operand: fn(&Self, usize, usize) -> Rewritten,
    ) -> Rewritten {
        let (first, mut at) = operand(self, at, to)?;
        let (mut parts, mut text) = (1, first);
        let closed = |parts: usize, text: String| if parts > 1 { format!(" [{text}]|{filter}") } else { text };
        while at < to
            && let Some(Symbol(symbol)) = self.token(at)
            && at + 1 < to
        {
            if symbol == counted {
                let (next, after) = operand(self, at + 1, to)?;
                text = format!("{text}{},{next}", self.gap(at));
                (parts, at) = (parts + 1, after);
            } else if kept.contains(&symbol) {
                let (next, after) = operand(self, at + 1, to)?;
                text = format!("{}{}{next}", closed(parts, text), self.as_is(at));
                (parts, at) = (1, after);
            } else {
                break;
            }
        }
        Ok((closed(parts, text), at))
    }

    /// A value with its minus signs, members, calls, filters and tests.
    fn operand(&self, at: usize, to: usize) -> Rewritten {
        let (mut text, mut at) = self.value(at, to)?;
        while at < to {
            match self.token(at) {
                Some(Symbol("|")) => {
                    text.push_str(self.as_is(at));
                    at = self.name(at + 1, to, &mut text);
                    if at < to && self.token(at) == Some(Symbol("(")) {
                        at = self.group(at, &mut text)?;
                    }
                }
                Some(Word("is")) => {
                    text.push_str(self.as_is(at));
                    at += 1;
                    if at < to && self.token(at) == Some(Word("not")) {
                        text.push_str(self.as_is(at));
                        at += 1;
                    }
                    at = self.name(at, to, &mut text);
                    if at < to && self.token(at) == Some(Symbol("(")) {
                        at = self.group(at, &mut text)?;
                    } else if at < to && self.is_argument(at) {
                        let (argument, next) = self.value(at, to)?;
                        // In brackets, because the value may now have a filter.
                        text.push_str(&format!("({argument})"));
                        at = next;
                    }
                }
                _ => break,
            }
        }
        Ok((text, at))
    }

    /// Whether the token after the name of a test is its argument.
    fn is_argument(&self, at: usize) -> bool {
        match self.token(at) {
            Some(Word(word)) => !["and", "or", "else", "is", "in", "if", "not", "recursive"].contains(&word),
            Some(Text(_) | Symbol("-" | "[" | "{")) => true,
            _ => false,
        }
    }

    /// The name of a filter or of a test.
    fn name(&self, mut at: usize, to: usize, text: &mut String) -> usize {
        while at < to {
            text.push_str(self.as_is(at));
            at += 1;
            if at + 1 >= to || self.token(at) != Some(Symbol(".")) {
                break;
            }
            text.push_str(self.as_is(at));
            at += 1;
        }
        at
    }

    /// A value with its minus signs, members and calls.
    fn value(&self, mut at: usize, to: usize) -> Rewritten {
        let mut text = String::new();
        while at < to && self.token(at) == Some(Symbol("-")) {
            text.push_str(self.as_is(at));
            at += 1;
        }
        if at >= to {
            return Ok((text, at));
        }
        match self.token(at) {
            Some(Symbol("*" | "**")) => {
                return refuse("`*` before an argument is not available here; write the arguments one by one");
            }
            Some(Symbol("(")) => at = self.group(at, &mut text)?,
            Some(Symbol("[" | "{")) => {
                let mut literal = String::new();
                at = self.group(at, &mut literal)?;
                text.push_str(&self.filtered(&format!("{literal}|{LITERAL}"), at, to));
            }
            Some(Text(_)) => {
                while at < to && matches!(self.token(at), Some(Text(_))) {
                    text.push_str(self.as_is(at));
                    at += 1;
                }
            }
            _ => {
                text.push_str(self.as_is(at));
                at += 1;
            }
        }
        let mut slices = 0;
        while at < to {
            match self.token(at) {
                Some(Symbol(".")) if at + 1 < to => {
                    text.push_str(self.as_is(at));
                    text.push_str(self.as_is(at + 1));
                    at += 2;
                }
                Some(Symbol("(")) => at = self.group(at, &mut text)?,
                Some(Symbol("[")) => match self.slice(at)? {
                    Some(_) if slices == BRACKETS_MAX => {
                        return refuse(format!("expected at most {BRACKETS_MAX} slices of slices, found more"));
                    }
                    Some(bounds) => {
                        slices += 1;
                        at = self.closing[at] + 1;
                        text = self.filtered(&format!("{text}|{SLICE}({bounds})"), at, to);
                    }
                    None => at = self.group(at, &mut text)?,
                },
                _ => break,
            }
        }
        Ok((text, at))
    }

    /// A value that now has a filter; in brackets if a member or a call follows.
    fn filtered(&self, text: &str, at: usize, to: usize) -> String {
        let is_continued = at < to && matches!(self.token(at), Some(Symbol("." | "(" | "[")));
        if is_continued { format!(" ({text})") } else { format!(" {text}") }
    }

    /// Brackets with their contents. Returns the index after them.
    fn group(&self, at: usize, text: &mut String) -> Result<usize, TemplateError> {
        let close = self.closing[at];
        text.push_str(self.as_is(at));
        text.push_str(&self.sequence(at + 1, close, &mut false)?.0);
        text.push_str(self.as_is(close));
        Ok(close + 1)
    }

    /// The bounds in brackets, if they are those of a slice.
    fn slice(&self, at: usize) -> Result<Option<String>, TemplateError> {
        let close = self.closing[at];
        let (mut colons, mut inside) = (Vec::new(), at + 1);
        while inside < close {
            match self.token(inside) {
                Some(Symbol("(" | "[" | "{")) => inside = self.closing[inside],
                Some(Symbol(":")) => colons.push(inside),
                _ => {}
            }
            inside += 1;
        }
        if colons.is_empty() {
            return Ok(None);
        }
        if colons.len() > 2 {
            return refuse("a slice has at most a start, a stop and a step");
        }
        let begins = std::iter::once(at + 1).chain(colons.iter().map(|colon| colon + 1));
        let ends = colons.iter().copied().chain(std::iter::once(close));
        let mut bounds = Vec::new();
        for (from, to) in begins.zip(ends) {
            let bound = self.sequence(from, to, &mut false)?.0;
            bounds.push(if bound.is_empty() { "none".to_owned() } else { format!("({bound})") });
        }
        bounds.resize(3, "none".to_owned());
        Ok(Some(bounds.join(",")))
    }
}
