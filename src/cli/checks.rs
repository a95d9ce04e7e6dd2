//! `rescreen checks`: the catalogue, and what in it is assumed rather than documented.

use super::output::{json_to_stdout, lines_to_stdout};
use clap::Args;
use comfy_table::{Table, presets};
use rescreen::{
    Error,
    catalogue::{Catalogue, Declaration, Flow},
    model::ExitCode,
};

#[derive(Args)]
pub struct ChecksArgs {
    /// Describe this check in full
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the declaration as TOML, to copy into a campaign file and change
    #[arg(long, requires = "name", conflicts_with = "json")]
    toml: bool,
}

pub fn checks(args: &ChecksArgs) -> Result<ExitCode, Error> {
    let catalogue = Catalogue::built_in();
    match &args.name {
        Some(name) => one(args, catalogue.get(name)?)?,
        None if args.json => {
            let all: Vec<&Declaration> = catalogue.iter().collect();
            json_to_stdout(&json(&all)?);
        }
        None => lines_to_stdout(&overview(&catalogue)),
    }
    Ok(ExitCode::Complete)
}

fn one(args: &ChecksArgs, declaration: &Declaration) -> Result<(), Error> {
    if args.toml {
        lines_to_stdout(&as_declaration(Catalogue::built_in_toml(&declaration.name).unwrap_or_default()));
    } else if args.json {
        json_to_stdout(&json(declaration)?);
    } else {
        lines_to_stdout(&detail(declaration));
    }
    Ok(())
}

/// A declaration in the format of a campaign file: its tables are under `declaration`.
fn as_declaration(text: &str) -> String {
    let line = |line: &str| match (line.strip_prefix("[["), line.strip_prefix('[')) {
        (Some(list), _) => format!("[[declaration.{list}"),
        (None, Some(table)) => format!("[declaration.{table}"),
        (None, None) => line.to_owned(),
    };
    std::iter::once("[[declaration]]".to_owned()).chain(text.lines().map(line)).collect::<Vec<_>>().join("\n")
}

fn json<T: serde::Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string_pretty(value).map_err(|error| Error::Internal(error.to_string()))
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.to_vec());
    table
}

fn overview(catalogue: &Catalogue) -> String {
    let mut table = table(&["check", "route", "fields", "summary"]);
    for declaration in catalogue.iter() {
        let fields: Vec<String> = declaration
            .fields
            .iter()
            .map(|field| if field.required { field.name.clone() } else { format!("[{}]", field.name) })
            .collect();
        table.add_row([
            declaration.name.as_str(),
            declaration.routes.guide.as_str(),
            &fields.join(", "),
            declaration.summary.as_str(),
        ]);
    }
    table.to_string()
}

fn detail(declaration: &Declaration) -> String {
    let flow = match declaration.flow {
        Flow::Direct => "the POST is answered",
        Flow::Replay => "the POST is answered, or repeated under its key until it is",
    };
    let alternate = declaration.routes.alternate.as_deref().unwrap_or("none");
    let price =
        declaration.price.map_or_else(|| "not documented: --price".to_owned(), |price| format!("{price} credits"));
    let mut fields = table(&["field", "kind", "needed", "default", "meaning"]);
    for field in &declaration.fields {
        fields.add_row([
            field.name.clone(),
            field.kind.as_str().to_owned(),
            if field.required { "yes" } else { "no" }.to_owned(),
            field.default.as_ref().map(ToString::to_string).unwrap_or_default(),
            format!("{}{}", field.doc, assumed(field.assumed)),
        ]);
    }
    let mut columns = table(&["result column", "from"]);
    for column in &declaration.answer.columns {
        let expect = column.expect.as_ref().map(|expect| format!(" · expect.{}", expect.name)).unwrap_or_default();
        columns.add_row([
            column.name.clone(),
            format!("{}{}{expect}", column.pointers.join(" or "), assumed(column.assumed)),
        ]);
    }
    let mut verdicts = table(&["verdict", "finding"]);
    for rule in &declaration.verdict.rules {
        verdicts.add_row([rule.verdict.as_str(), rule.finding.as_str()]);
    }
    let otherwise = &declaration.verdict.otherwise;
    verdicts.add_row([otherwise.verdict.as_str(), otherwise.finding.as_str()]);
    for (_, expect) in declaration.expectations() {
        verdicts.add_row(["review".to_owned(), format!("{0}_mismatch, {0}_not_stated", expect.name)]);
    }
    format!(
        "{}: {}\nroute {} (alternate {alternate}) · {flow} · key lifetime {} h · price \
         {price}\n\n{fields}\n\n{columns}\n\n{verdicts}{}",
        declaration.name,
        declaration.summary,
        declaration.routes.guide,
        declaration.key_life_hours,
        if declaration.verdict.assumed {
            "\n(the verdict rules are assumed: the service's description does not document these fields)"
        } else {
            ""
        }
    )
}

fn assumed(assumed: bool) -> &'static str {
    if assumed { " (assumed)" } else { "" }
}
