//! `rescreen reconcile`: compares a statement of the service with the ledgers of campaigns. It sends nothing and changes nothing.

use super::{
    chosen, json,
    output::{escaped_to_stdout, to_stderr},
    table::{self, Cell},
    table_file::TableFile,
};
use clap::{Args, ValueEnum};
use rescreen::{
    Error,
    model::ExitCode,
    pipeline::{
        self, ChargeDifference, ChargeSign, Columns, DifferenceKind, ExportFormat, ReconcileOrder, Reconciled, Tally,
        wording::{counted, grouped},
    },
    sink::{ColumnOf, Kind, Schema, TableCell},
};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

#[derive(Args)]
pub struct ReconcileArgs {
    /// Output folders or names of all campaigns that the statement is about [default: the campaign of rescreen.toml, or the only
    /// one in out/]
    #[arg(value_name = "DIR|NAME")]
    dirs: Vec<PathBuf>,
    /// Statement of the service, in any format that an input can have, with a line for each charge
    #[arg(long, value_name = "FILE")]
    statement: PathBuf,
    /// Column that identifies a request by its idempotency key, request id or job id; can be repeated [default: by its name]
    #[arg(long = "id", value_name = "COLUMN")]
    ids: Vec<String>,
    /// Column with the charge in credits [default: by its name]
    #[arg(long, value_name = "COLUMN")]
    amount: Option<String>,
    /// Whether charges are positive or negative numbers, the others being refunds; needed if any number is negative
    #[arg(long, value_name = "SIGN")]
    charges: Option<Sign>,
    /// How many differences to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Write a row for each difference into a new file
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Format of the file: parquet, jsonl, csv or xlsx [default: by the ending of its name]
    #[arg(long, value_name = "FORMAT", requires = "to")]
    format: Option<ExportFormat>,
    /// Exit with code 1 if anything differs
    #[arg(long)]
    exit_code: bool,
    /// Print one JSON object on standard output (see docs/json.md)
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Sign {
    Positive,
    Negative,
}

type DifferenceCell = fn(&ChargeDifference) -> TableCell;

/// The columns of the file. A column may be added at the end; none may be moved or renamed.
const COLUMNS: [ColumnOf<DifferenceCell>; 11] = [
    ColumnOf::full("difference", Kind::Text, |one| TableCell::text(one.kind.as_str())),
    ColumnOf::nullable("campaign", Kind::Text, |one| {
        TableCell::or_null(one.request.as_ref(), |(campaign, _)| TableCell::text(campaign))
    }),
    ColumnOf::nullable("check", Kind::Text, |one| {
        TableCell::or_null(one.request.as_ref(), |(_, charge)| TableCell::text(&charge.check))
    }),
    ColumnOf::nullable("source", Kind::Text, |one| {
        TableCell::or_null(one.request.as_ref().and_then(|(_, charge)| charge.source.as_deref()), TableCell::text)
    }),
    ColumnOf::nullable("row_number", Kind::Integer, |one| {
        TableCell::or_null(one.request.as_ref().and_then(|(_, charge)| charge.row_number), TableCell::integer)
    }),
    ColumnOf::nullable("state", Kind::Text, |one| {
        TableCell::or_null(one.request.as_ref(), |(_, charge)| TableCell::text(charge.state.as_str()))
    }),
    ColumnOf::nullable("ledger_credits", Kind::Integer, |one| {
        TableCell::or_null(one.request.as_ref(), |(_, charge)| TableCell::integer(charge.charged.0))
    }),
    ColumnOf::nullable("statement_credits", Kind::Integer, |one| TableCell::or_null(one.stated, TableCell::Integer)),
    ColumnOf::nullable("statement_line", Kind::Integer, |one| TableCell::or_null(one.line, TableCell::integer)),
    ColumnOf::nullable("idempotency_key", Kind::Text, |one| {
        TableCell::or_null(one.request.as_ref(), |(_, charge)| TableCell::text(charge.key.to_string()))
    }),
    ColumnOf::nullable("statement_id", Kind::Text, |one| TableCell::or_null(one.id.as_deref(), TableCell::text)),
];

pub async fn reconcile(args: ReconcileArgs) -> Result<ExitCode, Error> {
    let chosen = match args.dirs.as_slice() {
        [] => vec![chosen::one_to_show("reconcile", None, None)?],
        dirs => dirs.iter().map(|dir| chosen::one_to_show("reconcile", Some(dir), None)).collect::<Result<_, _>>()?,
    };
    let places: Vec<PathBuf> = chosen.into_iter().map(|chosen| chosen.place).collect();
    let comparing = tokio::task::spawn_blocking(move || compare(args, &places));
    comparing.await.map_err(Error::from)?
}

fn compare(args: ReconcileArgs, places: &[PathBuf]) -> Result<ExitCode, Error> {
    let schema = Schema { columns: COLUMNS.iter().map(ColumnOf::column).collect() };
    let file = args.to.as_deref().map(|path| TableFile::create(path, args.format, "differences", schema));
    let mut file = file.transpose()?;
    let order = ReconcileOrder {
        places,
        statement: &args.statement,
        columns: Columns { ids: args.ids, amount: args.amount },
        charges: args.charges.map(|sign| match sign {
            Sign::Positive => ChargeSign::Positive,
            Sign::Negative => ChargeSign::Negative,
        }),
    };
    let mut listed = Vec::new();
    let reconciled = pipeline::reconcile(&order, &mut |difference| {
        if listed.len() < args.limit {
            listed.push(difference.clone());
        }
        match &mut file {
            Some(file) => file.add(COLUMNS.iter().map(|column| (column.cell)(difference)).collect()),
            None => Ok(()),
        }
    })?;
    let written = file.map(TableFile::finish).transpose()?;
    reconciled.warnings.iter().for_each(|warning| to_stderr(warning));
    let differs = reconciled.differing() > 0;
    let code = if args.exit_code && differs { ExitCode::Internal } else { ExitCode::Complete };
    if args.json {
        let to = args.to.as_deref().map(|path| path.display().to_string());
        json::print(&json::object(json::Format::Reconcile, code, fields(&reconciled, to.as_deref())));
    } else {
        lines(&reconciled, &listed).iter().for_each(|line| escaped_to_stdout(line));
    }
    if let Some((path, rows)) = args.to.as_deref().zip(written) {
        to_stderr(&format!("{} written to {}", counted(rows, "row", "rows"), path.display()));
    }
    Ok(code)
}

fn lines(reconciled: &Reconciled, listed: &[ChargeDifference]) -> Vec<String> {
    let Reconciled { campaigns, lines, without_id, agree, unsettled, columns, statement_credits, .. } = reconciled;
    let amount = columns.amount.as_deref().unwrap_or_default();
    let mut shown = vec![
        format!("{} of the statement, compared with {}", counted(*lines, "line", "lines"), campaigns.join(", ")),
        format!("identity: {}; charge: {amount}, {}", columns.ids.join(", "), reconciled.charges.as_str()),
        format!(
            "statement: {}; ledgers: {}",
            credits(*statement_credits),
            counted(reconciled.ledger_credits, "credit", "credits")
        ),
    ];
    if without_id.count > 0 {
        shown.push(format!(
            "not compared: {} without an identity, such as totals or top-ups: {}",
            counted(without_id.count, "line", "lines"),
            credits(without_id.stated)
        ));
    }
    shown.push(format!(
        "equal: {}, {}",
        counted(agree.count, "charged request", "charged requests"),
        counted(agree.ledger, "credit", "credits")
    ));
    for kind in DifferenceKind::ALL {
        let Tally { count, ledger, stated } = reconciled.of(kind);
        if count == 0 {
            continue;
        }
        let (requests, stated) = (counted(count, "request", "requests"), credits(stated));
        shown.push(match kind {
            DifferenceKind::OtherAmount => {
                format!("another amount: {requests}, {} in the ledger, {stated} in the statement", grouped(ledger))
            }
            DifferenceKind::Unsettled => format!(
                "not settled in the ledger, and charged by the statement: {requests}, {stated}; `rescreen collect` settles what it \
                 can"
            ),
            DifferenceKind::OnlyLedger => {
                format!("only in the ledger: {requests}, {}", counted(ledger, "credit", "credits"))
            }
            DifferenceKind::OnlyStatement => format!(
                "only in the statement: {}, {stated}; name all campaigns that it is about",
                counted(count, "line", "lines")
            ),
        });
    }
    if *unsettled > 0 {
        shown.push(format!(
            "not settled in the ledger, and not charged by the statement: {}",
            counted(*unsettled, "request", "requests")
        ));
    }
    if reconciled.differing() == 0 {
        shown.push("nothing differs".to_owned());
        return shown;
    }
    let header = ["difference", "campaign", "check", "row", "ledger", "statement", "line", "id"];
    let rows: Vec<Vec<Cell>> = listed.iter().map(cells).collect();
    if !rows.is_empty() {
        shown.push(String::new());
        shown.extend(table::lines(&header, &rows, Some(header.len() - 1)));
    }
    let more = reconciled.differing() - rows.len() as u64;
    if more > 0 {
        shown.push(format!("… and {} more; --limit N lists more, --to FILE writes all", grouped(more)));
    }
    shown
}

/// `5 credits`, or `-1 credit` if refunds are more than charges.
fn credits(sum: i64) -> String {
    let minus = if sum < 0 { "-" } else { "" };
    format!("{minus}{}", counted(sum.unsigned_abs(), "credit", "credits"))
}

fn cells(difference: &ChargeDifference) -> Vec<Cell> {
    let ChargeDifference { kind, request, stated, line, id } = difference;
    let request = request.as_ref();
    let number = |number: Option<String>| number.unwrap_or_else(|| "–".to_owned());
    let row = request.and_then(|(_, charge)| Some(format!("{}:{}", charge.source.as_ref()?, charge.row_number?)));
    let id = id.clone().or_else(|| request.map(|(_, charge)| charge.key.to_string()));
    [
        kind.as_str().to_owned(),
        number(request.map(|(campaign, _)| campaign.clone())),
        number(request.map(|(_, charge)| charge.check.clone())),
        number(row),
        number(request.map(|(_, charge)| grouped(charge.charged.0))),
        number(stated.map(|stated| stated.to_string())),
        number(line.map(grouped)),
        number(id),
    ]
    .iter()
    .map(|text| Cell::text(text))
    .collect()
}

fn fields(reconciled: &Reconciled, to: Option<&str>) -> Value {
    let tally = |Tally { count, ledger, stated }: Tally| json!({ "count": count, "ledger_credits": ledger, "statement_credits": stated });
    let differences = DifferenceKind::ALL.map(|kind| (kind.as_str().to_owned(), tally(reconciled.of(kind))));
    json!({
        "campaigns": reconciled.campaigns,
        "lines": reconciled.lines,
        "without_id": tally(reconciled.without_id),
        "agree": tally(reconciled.agree),
        "unsettled": reconciled.unsettled,
        "id_columns": reconciled.columns.ids,
        "amount_column": reconciled.columns.amount,
        "charges": reconciled.charges.as_str(),
        "statement_credits": reconciled.statement_credits,
        "ledger_credits": reconciled.ledger_credits,
        "differing": reconciled.differing(),
        "differences": differences.into_iter().collect::<Map<_, _>>(),
        "to": to,
    })
}
