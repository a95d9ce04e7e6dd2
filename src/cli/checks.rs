//! `rescreen checks`: the catalogue, and what in it is assumed rather than documented; and tables for its results.

use super::{
    campaign_args::CampaignArgs,
    json,
    output::{bytes_to_stdout, lines_to_stdout, to_stderr},
    program::called,
    table::{of_page, page_of_stdout},
    wrap::wrapped,
};
use clap::Args;
use comfy_table::Table;
use rescreen::{
    Error,
    catalogue::{Catalogue, Declaration, Flow, Subject},
    model::{ExitCode, shell_words::quoted},
    pipeline::{Campaign, tables_of_campaign, tables_of_check},
    sink::Engine,
};
use std::path::PathBuf;

#[derive(Args)]
pub struct ChecksArgs {
    /// Describe this check in full
    name: Option<String>,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
    /// Print the declaration as TOML, to copy into a campaign file and change
    #[arg(long, requires = "name", conflicts_with = "json")]
    toml: bool,
    /// Print a CSV file to fill in, with a column for each field, the needed ones first
    #[arg(long, requires = "name", conflicts_with_all = ["json", "toml"])]
    csv: bool,
    /// Print the statements that create tables for the outputs: duckdb, postgres, bigquery, snowflake or spark (see
    /// docs/loading.md)
    #[arg(long, value_name = "ENGINE", conflicts_with_all = ["json", "toml", "csv"])]
    ddl: Option<Engine>,
    /// Campaign file whose declarations, carried and expected columns the tables have; without NAME, all its checks
    #[arg(short, long, value_name = "FILE", requires = "ddl")]
    config: Option<PathBuf>,
}

pub fn checks(args: &ChecksArgs) -> Result<ExitCode, Error> {
    let catalogue = Catalogue::built_in();
    if let Some(engine) = args.ddl {
        bytes_to_stdout(format!("{}\n", tables(args, engine, &catalogue)?).as_bytes());
        return Ok(ExitCode::Complete);
    }
    match &args.name {
        Some(name) => one(args, catalogue.get(name)?)?,
        None if args.json => print_json(&catalogue.iter().collect::<Vec<_>>())?,
        None => lines_to_stdout(&overview(&catalogue)),
    }
    Ok(ExitCode::Complete)
}

fn one(args: &ChecksArgs, declaration: &Declaration) -> Result<(), Error> {
    if args.toml {
        lines_to_stdout(&Catalogue::built_in_toml(&declaration.name).unwrap_or_default());
    } else if args.csv {
        lines_to_stdout(&form(declaration));
        let words = ["rescreen", "init", "FILE.csv", "--check", &declaration.name].map(str::to_owned);
        let command = quoted(&called(words.to_vec()));
        to_stderr(&format!("fill it in, one row for each subject, and continue with: {command}"));
    } else if args.json {
        print_json(&[declaration])?;
    } else {
        lines_to_stdout(&detail(declaration));
    }
    Ok(())
}

/// The header of a CSV file to fill in: a column that identifies the row, and one for each field. No name needs quotes.
fn form(declaration: &Declaration) -> String {
    let (needed, other): (Vec<_>, Vec<_>) = declaration.fields.iter().partition(|field| field.required);
    let fields = needed.into_iter().chain(other).map(|field| field.name.as_str());
    std::iter::once("id").chain(fields).collect::<Vec<_>>().join(",")
}

/// The statements that create the tables of a check, or of a campaign.
fn tables(args: &ChecksArgs, engine: Engine, catalogue: &Catalogue) -> Result<String, Error> {
    match (&args.name, &args.config) {
        (name, Some(_)) => {
            let flags = CampaignArgs { config: args.config.clone(), ..CampaignArgs::default() };
            let (mut file, base) = flags.fold()?;
            file.runs_no_programs = true;
            // Without a service, the campaign can only have been rehearsed.
            file.simulate = file.service.url.is_none();
            tables_of_campaign(engine, &Campaign::new(file, &base)?, name.as_deref())
        }
        (Some(name), None) => tables_of_check(engine, catalogue.get(name)?),
        (None, None) => Err(Error::Config(
            "--ddl: expected the name of a check, or a campaign file with -c, found neither; `rescreen checks` lists \
             the checks"
                .to_owned(),
        )),
    }
}

fn print_json(declarations: &[&Declaration]) -> Result<(), Error> {
    let checks = serde_json::to_value(declarations).map_err(|error| Error::Internal(error.to_string()))?;
    json::print(&json::object(json::Format::Checks, ExitCode::Complete, serde_json::json!({ "checks": checks })));
    Ok(())
}

/// A table of five columns needs a page of this many.
const TABLE_MIN: usize = 70;

/// A text of several lines, each wrapped at the width of the page.
fn page(text: &str) -> String {
    text.split('\n').map(|line| wrapped(line, page_of_stdout())).collect::<Vec<_>>().join("\n")
}

/// The checks with their summaries, grouped by subject.
fn overview(catalogue: &Catalogue) -> String {
    let mut subjects: Vec<Option<Subject>> = catalogue.iter().map(|declaration| declaration.subject).collect();
    subjects.sort_by_key(|subject| (subject.is_none(), *subject));
    subjects.dedup();
    let name_width = catalogue.iter().map(|declaration| declaration.name.len()).max().unwrap_or_default();
    let mut lines = Vec::new();
    for subject in subjects {
        lines.push(subject.map_or("other", Subject::as_str).to_owned());
        for declaration in catalogue.iter().filter(|declaration| declaration.subject == subject) {
            lines.push(format!("  {:name_width$}  {}", declaration.name, declaration.summary));
        }
        lines.push(String::new());
    }
    lines.push("`rescreen checks NAME` describes one of them.".to_owned());
    page(&lines.join("\n"))
}

fn detail(declaration: &Declaration) -> String {
    let flow = match declaration.flow {
        Flow::Direct => "answered at once",
        Flow::Job if declaration.job.as_ref().is_some_and(|job| job.always) => {
            "accepted as a job that is answered later"
        }
        Flow::Job => "answered at once, or accepted as a job that is answered later",
        Flow::Replay => "answered at once, or repeated under its key until it is",
        Flow::Upload => "answered at once; a large document is uploaded first",
    };
    let mark = |part: &str| assumed(declaration.is_assumed(part));
    let mut head = vec![format!("route       {}{}", declaration.routes.guide, mark("routes.guide"))];
    if let Some(alternate) = &declaration.routes.alternate {
        head.push(format!("alternate   {alternate}{}", mark("routes.alternate")));
    }
    head.push(format!("flow        {flow}{}", mark("flow")));
    for (name, value) in &declaration.fixed {
        head.push(format!("sent too    {name} = {value}{}", mark(&format!("fixed.{name}"))));
    }
    head.push(format!("key life    {} hours{}", declaration.key_life_hours, mark("key_life_hours")));
    let price =
        declaration.price.map_or_else(|| "not documented: --price".to_owned(), |price| format!("{price} credits"));
    head.push(format!("price       {price}"));
    if let Some(job) = &declaration.job {
        head.push(format!("job         {}{}", job.status, assumed(job.assumed)));
        head.extend(job.retry_webhook.iter().map(|path| format!("redelivery  {path}")));
        head.extend(job.hold.map(|hold| format!("held        {hold} credits until the job has a result")));
    }
    if let Some(field) = &declaration.consent {
        head.push(format!("consent     {field}; one value for all rows needs --consent-evidence"));
    }
    let joined = |pointers: &[String], word: &str| pointers.join(word);
    let answer = &declaration.answer;
    let places: Vec<String> = answer.payload.iter().map(|place| place_in_words(place)).collect();
    head.push(format!("content at  {}{}", joined(&places, " or\n            "), mark("answer.payload")));
    head.push("            pointers below start at the first of these places that is present".to_owned());
    if !answer.compared.is_empty() {
        head.push(format!("compared    {}{}", joined(&answer.compared, " or "), mark("answer.compared")));
    }
    if !answer.volatile.is_empty() {
        head.push(format!("volatile    {}{}", joined(&answer.volatile, ",\n            "), mark("answer.volatile")));
    }
    if let Some(matches) = &answer.matches {
        let (lists, id) = (joined(&matches.lists, " and "), joined(&matches.id, " or "));
        head.push(format!("matches     in {lists}, each known by {id}{}", mark("answer.matches")));
        head.push("            accepted or not by `rescreen decide`".to_owned());
    }
    if let Some(source) = &declaration.source {
        head.push(format!("assumed by  {source}"));
    }
    let mut columns = of_page(&["result column", "from the content"]);
    for column in &declaration.answer.columns {
        let expect = column.expect.as_ref().map(|expect| format!(" · expect.{}", expect.name)).unwrap_or_default();
        columns.add_row([
            column.name.clone(),
            format!("{}{}{expect}", column.pointers.join(" or "), assumed(column.assumed)),
        ]);
    }
    format!(
        "{}\n\n{}\n\n{}\n\n{columns}\n\n{}",
        page(&format!("{}: {}", declaration.name, declaration.summary)),
        page(&head.join("\n")),
        fields(declaration),
        verdicts(declaration),
    )
}

/// A place of the content. The empty pointer is the answer itself.
fn place_in_words(pointer: &str) -> String {
    if pointer.is_empty() { "the root of the answer".to_owned() } else { pointer.to_owned() }
}

/// The fields as a table, or as a list where the page is too narrow for one.
fn fields(declaration: &Declaration) -> String {
    // A column without content would take the width from the others.
    let has_default = declaration.fields.iter().any(|field| field.default.is_some());
    let mut header = vec!["field", "kind", "needed", "default", "meaning"];
    header.retain(|name| has_default || *name != "default");
    let rows = declaration.fields.iter().map(|field| {
        let part = |part: &str| assumed(field.is_assumed(part));
        let default = field.default.as_ref().map(|value| format!("{value}{}", part("default"))).unwrap_or_default();
        let mut meaning = format!("{}{}", field.doc, assumed(field.assumed));
        for limit in field.limits() {
            meaning.push_str(&format!("; {}{}", limit.text, assumed(limit.assumed)));
        }
        let kind = format!("{}{}", field.kind.as_str(), part("kind"));
        let needed = format!("{}{}", if field.required { "yes" } else { "no" }, part("required"));
        let mut row = vec![field.name.clone(), kind, needed];
        row.extend(has_default.then_some(default));
        row.push(meaning);
        row
    });
    if page_of_stdout() < TABLE_MIN {
        return rows.map(|row| field_lines(&header, &row)).collect::<Vec<_>>().join("\n");
    }
    let mut table = of_page(&header);
    table.add_rows(rows);
    table.to_string()
}

/// A row of the table of fields as lines: the facts about the field, and below them its meaning.
fn field_lines(header: &[&str], row: &[String]) -> String {
    let [name, facts @ .., meaning] = row else { return String::new() };
    let facts = header[1..].iter().zip(facts).filter(|(_, fact)| !fact.is_empty());
    let facts: Vec<String> = facts.map(|(what, fact)| format!("{what} {fact}")).collect();
    page(&format!("{name}: {}\n  {meaning}", facts.join(", ")))
}

fn verdicts(declaration: &Declaration) -> Table {
    let mut verdicts = of_page(&["verdict", "finding"]);
    let mut shown: Vec<(&str, String)> = Vec::new();
    for rule in &declaration.verdict.rules {
        let finding = format!("{}{}", rule.finding, assumed(declaration.is_rule_assumed(rule)));
        // Several rules may have one finding.
        if !shown.contains(&(rule.verdict.as_str(), finding.clone())) {
            shown.push((rule.verdict.as_str(), finding));
        }
    }
    let otherwise = &declaration.verdict.otherwise;
    shown.push((otherwise.verdict.as_str(), otherwise.finding.clone()));
    for (_, expect) in declaration.expectations() {
        shown.push(("review", format!("{0}_mismatch, {0}_not_stated", expect.name)));
    }
    for (verdict, finding) in shown {
        verdicts.add_row([verdict.to_owned(), finding]);
    }
    verdicts
}

fn assumed(assumed: bool) -> &'static str {
    if assumed { " (assumed)" } else { "" }
}
