//! The report of a campaign: one HTML page that can be shared. It reads the ledger and the manifest, and sends nothing.
//!
//! | file | noun |
//! |---|---|
//! | `figures` | everything that the page shows, from one state of the ledger |
//! | `findings`, `reasons` | results by finding, failures by reason |
//! | `changes` | what changed since an earlier round |
//! | `timeline`, `answer_times` | time in buckets, and how long answers took |
//! | `chart` | charts as SVG |
//! | `block`, `sections`, `words` | what the page consists of, in words |
//! | `page`, `file` | the HTML, and the file that it is written to |

mod answer_times;
pub mod block;
mod changes;
mod chart;
pub mod figures;
mod file;
mod findings;
pub mod page;
mod reasons;
pub mod sections;
mod timeline;
pub mod words;

use super::status::open_ledger;
use crate::{error::Error, model::Clock, sink::OutputMode};
use changes::Changes;
use figures::Figures;
use page::PageKind;
use std::path::{Path, PathBuf};

/// What to report about, and where to.
pub struct ReportOrder<'a> {
    /// An output folder, or a ledger file.
    pub place: &'a Path,
    /// The output folder, if the ledger is in another one.
    pub out: Option<&'a Path>,
    /// The file to write; without it, `report.html` in the output folder.
    pub to: Option<&'a Path>,
    /// The published folder of an earlier round to compare with.
    pub since: Option<&'a Path>,
}

/// A report that was written, and its main figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    pub file: PathBuf,
    pub campaign: String,
    pub mode: OutputMode,
    /// As `rescreen status` calls it.
    pub state: &'static str,
    pub rows: u64,
    pub asks: u64,
    pub results: u64,
    /// Failed asks; a row that could not be read counts once.
    pub failures: u64,
    pub pending: u64,
    pub skipped: u64,
    pub credits: u64,
    /// The manifest has the same figures.
    pub is_published: bool,
    /// The campaign of the earlier round, and how many asks changed since.
    pub since: Option<(String, u64)>,
}

/// The name of the report in the output folder.
const NAME: &str = "report.html";

/// Writes the report of a campaign.
///
/// # Errors
/// The ledger or the manifest cannot be read, the earlier round cannot be compared, or the file cannot be written.
pub fn report_page(order: &ReportOrder<'_>) -> Result<Reported, Error> {
    let reading = open_ledger(order.place)?;
    let ledger = reading.path();
    let out = order.out.unwrap_or(ledger.parent().unwrap_or(Path::new("")));
    let to = order.to.map_or_else(|| out.join(NAME), Path::to_owned);
    file::check(&to)?;
    let changes = order.since.map(|old| changes::changes(old, out)).transpose()?;
    let figures = Figures::read(&reading, out).map_err(|error| error.at_ledger(ledger))?;
    let figures = Figures { changes, ..figures };
    let made_at = words::exact_time(Clock::System.now_us());
    let page = page::page(&figures, PageKind::Report, &sections::sections(&figures), &made_at)?;
    file::write(&to, &page)?;
    let changed = |changes: &Changes| (changes.comparison.old.campaign.clone(), changes.comparison.changed());
    let (status, sums) = (&figures.status, &figures.status.sums);
    Ok(Reported {
        file: to,
        campaign: status.identity.campaign.clone(),
        mode: figures.mode,
        state: status.state().as_str(),
        rows: sums.rows,
        asks: sums.asks,
        results: figures.sum(|check| check.counts.results),
        failures: figures.sum(|check| check.counts.failures) + sums.unreadable,
        pending: figures.sum(|check| check.counts.pending),
        skipped: figures.sum(|check| check.counts.skipped),
        credits: sums.account.charged.0,
        is_published: figures.is_published(),
        since: figures.changes.as_ref().map(changed),
    })
}
