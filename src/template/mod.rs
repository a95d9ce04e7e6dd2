//! Templates: MiniJinja with fuel, a closed list of filters, and strict nulls. A row is rendered as text (`Template`)
//! or tested (`Condition`); an answer is tested (`AnswerRule`).
//!
//! **A missing value never becomes text**, because screening "Jo None" would return clear. Every missing value is
//! passed to MiniJinja as an object that records whether it was printed, and an evaluation that printed one is
//! [`RenderFault::Missing`], whatever its result. Comparisons cannot be observed that way. If one may have involved a
//! missing value, the evaluation is repeated with undefined values, which MiniJinja refuses to compare, and both
//! results must agree.
//!
//! Templates are limited: the text of one to 64 KiB and a nesting depth (`nesting`), an evaluation to 50,000 steps and
//! to the bytes it makes (`spent`), and its result to 2 MiB.
//!
//! | with a missing `x` | template | condition, answer rule |
//! |---|---|---|
//! | `x` alone as a condition; `not x` | false; true | false; true |
//! | `x == 'a'`, `x in […]` | fault | false |
//! | `x != 'a'` | fault | true |
//! | `x < 'a'` | fault | fault |
//! | `x ~ 'a'`, any filter but `default` | fault | fault |

mod answer_view;
mod bounded;
mod calls;
mod error;
mod filters;
mod lists;
mod literal;
mod made;
mod methods;
mod missing;
mod mistakes;
mod nesting;
mod operators;
pub mod reference;
mod refusal;
mod source;
mod spent;
mod text;
mod view;

pub use answer_view::AnswerView;
pub use error::{RenderFault, TemplateError};
pub use filters::Tables;
pub use view::{Nulls, RowView};

use minijinja::{Environment, ErrorKind, Value};
use missing::{MissingValues, StandIn, watched};
use source::SourceKind;
use std::collections::BTreeSet;

/// Maximum steps of one evaluation.
const FUEL: u64 = 50_000;
/// Maximum nesting depth of running loops; a macro counts as five. MiniJinja evaluates them on the stack.
const NESTED_MAX: usize = 160;
/// The name of the only template in an environment.
const NAME: &str = "template";
/// Names that a template may use and that are not columns.
const GLOBALS: [&str; 2] = ["row", "namespace"];

/// Compiles templates, which share its filters and tables.
#[derive(Debug, Clone)]
pub struct Templates {
    environment: Environment<'static>,
    tables: Tables,
}

/// A template that gives text for a row.
#[derive(Debug, Clone)]
pub struct Template(Compiled);

/// An expression that is true or false for a row.
#[derive(Debug, Clone)]
pub struct Condition(Compiled);

/// An expression over `payload`, `answer` and `sent`.
#[derive(Debug, Clone)]
pub struct AnswerRule(Compiled);

/// Rules of which the first that an answer satisfies counts.
#[derive(Debug, Clone)]
pub struct AnswerRules {
    rules: Vec<AnswerRule>,
    /// All rules as one template; `None` if that would be too long.
    together: Option<Compiled>,
}

#[derive(Debug, Clone)]
struct Compiled {
    environment: Environment<'static>,
    kind: SourceKind,
    /// Whether it has comparisons whose result must not depend on a missing value.
    compares: bool,
    columns: BTreeSet<String>,
}

impl Default for Templates {
    fn default() -> Templates {
        Templates::new(Tables::default())
    }
}

impl Templates {
    /// Templates with these lookup tables.
    pub fn new(tables: Tables) -> Templates {
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(minijinja::UndefinedBehavior::SemiStrict);
        environment.set_fuel(Some(FUEL));
        environment.set_recursion_limit(NESTED_MAX);
        environment.set_debug(false);
        filters::install(&mut environment, tables.clone());
        operators::install(&mut environment);
        Templates { environment, tables }
    }

    /// A template that gives text, such as `{{ first_name }} {{ surname }}`.
    pub fn compile(&self, source: &str) -> Result<Template, TemplateError> {
        self.compiled(source, SourceKind::Template).map(Template)
    }

    /// An expression over a row, such as `status == 'active'`.
    pub fn condition(&self, source: &str) -> Result<Condition, TemplateError> {
        self.expression(source).map(Condition)
    }

    /// An expression over an answer, such as `payload.match == []`.
    pub fn answer_rule(&self, source: &str) -> Result<AnswerRule, TemplateError> {
        self.expression(source).map(AnswerRule)
    }

    /// Rules over an answer, of which the first that holds counts.
    pub fn answer_rules(&self, sources: &[&str]) -> Result<AnswerRules, TemplateError> {
        let rules = sources.iter().map(|source| self.answer_rule(source)).collect::<Result<_, _>>()?;
        let branch =
            |(at, source): (usize, &&str)| format!("{{% {} ({source}) %}}{at}", if at == 0 { "if" } else { "elif" });
        let together: String = sources.iter().enumerate().map(branch).collect();
        let together = self.compiled(&format!("{together}{{% endif %}}"), SourceKind::Expression);
        Ok(AnswerRules { rules, together: together.ok() })
    }

    fn expression(&self, source: &str) -> Result<Compiled, TemplateError> {
        let code = source::inspect_expression(source)?;
        let compiled = self.environment.compile_expression_owned(bounded::expression(&code)?);
        compiled.map_err(|error| mistakes::explained_expression(&error, &code))?;
        self.compiled(&format!("{{% if ({source}) %}}true{{% endif %}}"), SourceKind::Expression)
    }

    fn compiled(&self, source: &str, kind: SourceKind) -> Result<Compiled, TemplateError> {
        let bounded = bounded::bounded(source)?;
        let inspected = source::inspect(source, kind, &self.tables)?;
        let mut environment = self.environment.clone();
        let added = environment.add_template_owned(NAME, bounded);
        added.map_err(|error| mistakes::explained(&error, source))?;
        let mut columns: BTreeSet<String> = {
            let template = environment.get_template(NAME).map_err(|error| mistakes::as_said(&error))?;
            template.undeclared_variables(false).into_iter().collect()
        };
        columns.retain(|name| !GLOBALS.contains(&name.as_str()));
        columns.extend(inspected.subscripts);
        Ok(Compiled { environment, kind, compares: inspected.compares, columns })
    }
}

impl Template {
    /// The columns it reads: its root variables, and the names in `row["…"]`.
    pub fn columns(&self) -> &BTreeSet<String> {
        &self.0.columns
    }

    /// The text for a row.
    pub fn render(&self, row: &RowView) -> Result<String, RenderFault> {
        self.0.evaluate(|| row.context())
    }
}

impl Condition {
    /// The columns it reads.
    pub fn columns(&self) -> &BTreeSet<String> {
        &self.0.columns
    }

    /// Whether the row satisfies it.
    pub fn holds(&self, row: &RowView) -> Result<bool, RenderFault> {
        self.0.evaluate(|| row.context()).map(|text| !text.is_empty())
    }
}

impl AnswerRule {
    /// Whether an answer satisfies it. Missing parts are undefined, at any depth. An error means that this rule cannot
    /// judge the answer.
    pub fn holds(&self, payload: &serde_json::Value, answer: &serde_json::Value) -> Result<bool, String> {
        self.holds_for(&AnswerView::of_both(payload, answer))
    }

    /// Whether it reads what was sent.
    pub fn reads_sent(&self) -> bool {
        self.0.columns.contains("sent")
    }

    /// The same as [`AnswerRule::holds`], for an answer that several rules read.
    ///
    /// # Errors
    /// The same as [`AnswerRule::holds`].
    pub fn holds_for(&self, answer: &AnswerView) -> Result<bool, String> {
        let held = self.0.evaluate(|| answer.context());
        held.map(|text| !text.is_empty()).map_err(|fault| fault.to_string())
    }
}

impl AnswerRules {
    /// Whether a rule reads what was sent.
    pub fn read_sent(&self) -> bool {
        self.rules.iter().any(AnswerRule::reads_sent)
    }

    /// The place of the first rule that an answer satisfies; `None` if it satisfies none.
    ///
    /// # Errors
    /// The same as [`AnswerRule::holds`], of the first rule that cannot judge the answer.
    pub fn first(&self, answer: &AnswerView) -> Result<Option<usize>, String> {
        if let Some(text) = self.together.as_ref().and_then(|together| together.plainly(answer)) {
            return Ok(text.parse().ok());
        }
        for (at, rule) in self.rules.iter().enumerate() {
            if rule.holds_for(answer)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}

impl Compiled {
    /// The result of an evaluation in which missing values played no part: each rule alone would have the same. `None`
    /// if one did, or if it failed.
    fn plainly(&self, answer: &AnswerView) -> Option<String> {
        let (outcome, watch) = watched(StandIn::Object, || self.render(answer.context()));
        outcome.ok().filter(|_| watch.printed.is_none() && !watch.kind_asked)
    }

    fn evaluate(&self, context: impl Fn() -> Value) -> Result<String, RenderFault> {
        let (outcome, watch) = watched(StandIn::Object, || self.render(context()));
        if let Some(what) = &watch.printed {
            return Err(RenderFault::Missing { what: what.to_string() });
        }
        let text = outcome.map_err(|error| fault(&error, &watch))?;
        let at_stake = watch.kind_asked || self.kind == SourceKind::Template && watch.read.is_some();
        if self.compares && at_stake {
            let (strict, strict_watch) = watched(StandIn::Undefined, || self.render(context()));
            if strict.ok().as_ref() != Some(&text) {
                let what = strict_watch.read.or(watch.read).as_deref().unwrap_or_default().to_owned();
                return Err(RenderFault::Missing { what });
            }
        }
        Ok(text)
    }

    fn render(&self, context: Value) -> Result<String, minijinja::Error> {
        let mut result = spent::Printed::default();
        self.environment.get_template(NAME)?.render_captured_to(context, &mut result)?;
        Ok(result.into_text())
    }
}

/// The meaning of a MiniJinja error.
fn fault(error: &minijinja::Error, watch: &MissingValues) -> RenderFault {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(link) = cause {
        if let Some(unknown) = link.downcast_ref::<refusal::UnknownColumn>() {
            return RenderFault::UnknownColumn { name: unknown.name.clone(), hint: unknown.hint.clone() };
        }
        if let Some(refusal) = link.downcast_ref::<refusal::FilterRefusal>() {
            let message = refusal.to_string();
            return match refusal.kind {
                refusal::RefusalKind::Country => RenderFault::Country { message },
                _ => RenderFault::Error { message },
            };
        }
        cause = link.source();
    }
    match (error.kind(), &watch.read) {
        (ErrorKind::OutOfFuel, _) => {
            RenderFault::Error { message: format!("the template takes more than {FUEL} steps; write a shorter loop") }
        }
        (ErrorKind::WriteFailure, _) => RenderFault::Error { message: spent::TOO_LONG.to_owned() },
        (_, Some(what)) => RenderFault::Missing { what: what.to_string() },
        (ErrorKind::UndefinedError, None) => RenderFault::Missing { what: "a part of the template".to_owned() },
        _ => RenderFault::Error { message: wording(error) },
    }
}

/// Prefixes of MiniJinja messages that contain only kinds and names; other messages may repeat a cell.
const SAFE_DETAILS: [&str; 4] = ["tried to use", "cannot ", "filter ", "function "];

fn wording(error: &minijinja::Error) -> String {
    let detail = error.detail().filter(|detail| SAFE_DETAILS.iter().any(|safe| detail.starts_with(safe)));
    let line = error.line().filter(|line| *line > 1).map(|line| format!(" (line {line})")).unwrap_or_default();
    match detail {
        Some(detail) => format!("{}: {detail}{line}", error.kind()),
        None => format!("{}{line}", error.kind()),
    }
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "bounds_tests.rs"]
mod bounds_tests;

#[cfg(test)]
#[path = "doc_tests.rs"]
mod doc_tests;

#[cfg(test)]
#[path = "methods_tests.rs"]
mod methods_tests;

#[cfg(test)]
#[path = "mistakes_tests.rs"]
mod mistakes_tests;
