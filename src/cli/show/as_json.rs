//! The JSON of `rescreen show`: rows, with what was sent and answered.

use crate::cli::json;
use rescreen::{
    model::ExitCode,
    pipeline::show::{SeenEnd, SeenRow},
    sink::{PublishedFolder, TableCell},
};
use serde_json::{Map, Value};

/// Prints the object. Rows of all campaigns have no folder.
pub fn print(folder: Option<&PublishedFolder>, subject: Option<&str>, total: u64, rows: &[SeenRow]) {
    let manifest = folder.map(PublishedFolder::manifest);
    let fields = serde_json::json!({
        "folder": folder.map(|folder| folder.path().display().to_string()),
        "subject": subject,
        "campaign": manifest.map(|manifest| &manifest.campaign),
        "mode": manifest.map(|manifest| manifest.mode),
        "under_way": manifest.map(|manifest| manifest.under_way),
        "total": total,
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
    });
    json::print(&json::object(json::Format::Show, ExitCode::Complete, fields));
}

fn row(row: &SeenRow) -> Value {
    let (outcome, verdict, finding, code, reason, message) = match &row.end {
        SeenEnd::Result { verdict, finding } => ("result", Some(verdict), Some(finding), None, None, None),
        SeenEnd::Failure { code, message } => ("failure", None, None, Some(code), None, Some(message)),
        SeenEnd::Pending { reason } => ("pending", None, None, None, Some(reason), None),
        SeenEnd::Skipped { reason } => ("skipped", None, None, None, Some(reason), None),
    };
    let columns: Map<String, Value> = row.columns.iter().map(|(name, cell)| (name.clone(), value_of(cell))).collect();
    serde_json::json!({
        "campaign": row.campaign,
        "mode": row.mode,
        "check": row.check,
        "subject": row.subject,
        "outcome": outcome,
        "verdict": verdict,
        "finding": finding,
        "code": code,
        "reason": reason,
        "message": message,
        "completed_at": json::time(row.completed_at_us),
        "source": row.source,
        "row_number": row.row_number,
        "sent": row.sent,
        "columns": columns,
    })
}

fn value_of(cell: &TableCell) -> Value {
    match cell {
        TableCell::Null => Value::Null,
        TableCell::Text(text) => text.as_str().into(),
        TableCell::Json(text) => serde_json::from_str(text).unwrap_or_default(),
        TableCell::Integer(number) => (*number).into(),
        TableCell::Number(number) => (*number).into(),
        TableCell::Boolean(truth) => (*truth).into(),
        TableCell::Date(day) => day.to_string().into(),
        TableCell::Timestamp(at_us) => json::time(*at_us),
    }
}
