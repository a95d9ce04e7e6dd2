//! Limits on the nesting of a template. MiniJinja parses, compiles, evaluates and drops a template on the stack, and a
//! chain of operators or filters is as deep as it is long. Even in an unoptimised build, the limits need less than half
//! of the 2 MiB stack of the program's threads.

use super::{
    error::TemplateError,
    source::{Code, Token::Symbol, refuse},
};

/// Maximum words and symbols between two commas of an expression, including those in the largest nested
/// brackets.
const CHAIN_MAX: usize = 250;
/// Maximum nesting depth of brackets, and of slices of slices.
pub(super) const BRACKETS_MAX: usize = 20;
/// Maximum nesting depth of statements.
const STATEMENTS_MAX: usize = 20;
/// Maximum `elif` branches in a template: MiniJinja nests each one in the one before.
const BRANCHES_MAX: usize = 50;
/// The statements that are open at a position in a template.
#[derive(Default)]
pub(super) struct Statements {
    inside: usize,
    branches: usize,
}

impl Statements {
    /// Moves to the next tag.
    pub(super) fn enter(&mut self, code: &Code<'_>) -> Result<(), TemplateError> {
        match code.first_word() {
            Some("for" | "if" | "with" | "macro" | "call" | "filter" | "autoescape") => self.inside += 1,
            Some("set") if code.tokens.iter().all(|place| place.token != Symbol("=")) => self.inside += 1,
            Some("elif") => self.branches += 1,
            Some(word) if word.starts_with("end") => self.inside = self.inside.saturating_sub(1),
            _ => {}
        }
        if self.inside > STATEMENTS_MAX {
            return refuse(format!("expected at most {STATEMENTS_MAX} nested statements, found more"));
        }
        if self.branches > BRANCHES_MAX {
            return refuse(format!(
                "expected at most {BRANCHES_MAX} `elif` in a template, found more; use the filter `table`"
            ));
        }
        Ok(())
    }
}

/// The index of the closing bracket for each opening one. Refuses brackets that are nested too deeply, and works
/// without recursion.
pub(super) fn brackets(code: &Code<'_>) -> Result<Vec<usize>, TemplateError> {
    let mut closing = vec![0; code.tokens.len()];
    // For each open bracket: its index and text, the words since the last comma, the most words between two commas
    // before, and the most words in brackets inside it.
    let mut open: Vec<(usize, &str, usize, usize, usize)> = vec![(0, "", 0, 0, 0)];
    for (at, place) in code.tokens.iter().enumerate() {
        let (.., words, _, deepest) = open.last_mut().expect("the outermost is never closed");
        match place.token {
            Symbol(symbol @ ("(" | "[" | "{")) => {
                *words += 1;
                open.push((at, symbol, 0, 0, 0));
                if open.len() > BRACKETS_MAX + 1 {
                    return refuse(format!("expected at most {BRACKETS_MAX} nested brackets, found more"));
                }
            }
            Symbol(symbol @ (")" | "]" | "}")) => {
                let Some((begin, opened, words, most, deepest)) =
                    open.pop().filter(|(_, opened, ..)| !opened.is_empty())
                else {
                    return refuse(format!("`{symbol}` has no opening bracket"));
                };
                if !matches!((opened, symbol), ("(", ")") | ("[", "]") | ("{", "}")) {
                    return refuse(format!("`{symbol}` closes a `{opened}`"));
                }
                closing[begin] = at;
                let inside = most.max(words + deepest);
                let outer = open.last_mut().expect("the outermost is never closed");
                outer.4 = outer.4.max(inside);
            }
            Symbol(",") => {
                let inside = *words + *deepest;
                let (.., words, most, deepest) = open.last_mut().expect("the outermost is never closed");
                *most = (*most).max(inside);
                (*words, *deepest) = (0, 0);
            }
            _ => *words += 1,
        }
        let total: usize = open.iter().map(|(_, _, words, most, deepest)| (*most).max(words + deepest)).sum();
        if total > CHAIN_MAX {
            return refuse(format!(
                "expected an expression with at most {CHAIN_MAX} words and symbols, found more; split it with `{{% set \
                 %}}`"
            ));
        }
    }
    if let Some((_, opened, ..)) = open.get(1) {
        return refuse(format!("`{opened}` has no closing bracket"));
    }
    Ok(closing)
}
