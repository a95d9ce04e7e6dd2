//! How deeply a template may be nested. MiniJinja parses, compiles, evaluates and drops a template on the stack, and a long
//! chain of operators or filters is as deep as it is long. The limits hold without optimisation on half of the 2 MiB that
//! the program's threads have.

use super::{
    error::TemplateError,
    source::{Code, Token::Sign, refuse},
};

/// Words and signs of one expression that are not apart by a comma, with those of the deepest brackets inside, at most.
const CHAIN_MAX: usize = 250;
/// Brackets inside one another, at most, and slices one after the other.
pub(super) const BRACKETS_MAX: usize = 20;
/// Statements inside one another, at most.
const STATEMENTS_MAX: usize = 20;
/// Branches of all `if`s, at most: MiniJinja reads each inside the one before.
const BRANCHES_MAX: usize = 50;
/// Where a template stands among its statements.
#[derive(Default)]
pub(super) struct Statements {
    inside: usize,
    branches: usize,
}

impl Statements {
    /// Goes on to the next tag.
    pub(super) fn enter(&mut self, code: &Code<'_>) -> Result<(), TemplateError> {
        match code.first_word() {
            Some("for" | "if" | "with" | "macro" | "call" | "filter" | "autoescape") => self.inside += 1,
            Some("set") if code.tokens.iter().all(|place| place.token != Sign("=")) => self.inside += 1,
            Some("elif") => self.branches += 1,
            Some(word) if word.starts_with("end") => self.inside = self.inside.saturating_sub(1),
            _ => {}
        }
        if self.inside > STATEMENTS_MAX {
            return refuse(format!("expected at most {STATEMENTS_MAX} statements inside one another, found more"));
        }
        if self.branches > BRANCHES_MAX {
            return refuse(format!("expected at most {BRANCHES_MAX} `elif` in a template, found more; use a table"));
        }
        Ok(())
    }
}

/// For each opening bracket the place of its closing one. Refuses what is nested too deeply, without a stack of calls.
pub(super) fn brackets(code: &Code<'_>) -> Result<Vec<usize>, TemplateError> {
    let mut closing = vec![0; code.tokens.len()];
    // Of each open bracket: its place, the words since the last comma, and the most found between two commas before.
    let mut open: Vec<(usize, &str, usize, usize, usize)> = vec![(0, "", 0, 0, 0)];
    for (at, place) in code.tokens.iter().enumerate() {
        let (.., words, _, deepest) = open.last_mut().expect("the outermost is never closed");
        match place.token {
            Sign(sign @ ("(" | "[" | "{")) => {
                *words += 1;
                open.push((at, sign, 0, 0, 0));
                if open.len() > BRACKETS_MAX + 1 {
                    return refuse(format!("expected at most {BRACKETS_MAX} brackets inside one another, found more"));
                }
            }
            Sign(sign @ (")" | "]" | "}")) => {
                let Some((begin, opened, words, most, deepest)) =
                    open.pop().filter(|(_, opened, ..)| !opened.is_empty())
                else {
                    return refuse(format!("`{sign}` closes no bracket"));
                };
                if !matches!((opened, sign), ("(", ")") | ("[", "]") | ("{", "}")) {
                    return refuse(format!("`{sign}` closes a `{opened}`"));
                }
                closing[begin] = at;
                let inside = most.max(words + deepest);
                let outer = open.last_mut().expect("the outermost is never closed");
                outer.4 = outer.4.max(inside);
            }
            Sign(",") => {
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
                "expected an expression of at most {CHAIN_MAX} words and signs, found more; take it apart with `{{% set %}}`"
            ));
        }
    }
    if let Some((_, opened, ..)) = open.get(1) {
        return refuse(format!("`{opened}` is never closed"));
    }
    Ok(closing)
}
