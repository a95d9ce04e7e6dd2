//! The replies that could not be read as answers, byte for byte, and a list of them. A file has the number of its request
//! as its name: a reply may contain personal data, and a name must not.

use super::{Exported, ExportedFile, Source, place::NewPlace};
use crate::{
    error::Error,
    ledger::UnreadReply,
    model::Stop,
    sink::{self, CheckTotals, ColumnOf, FileFormat, Kind, Schema, TableCell, TableWriter},
};

/// The list, with a row for each reply.
const LIST: &str = "replies.jsonl";
/// The folder of the replies.
const REPLIES: &str = "replies";

type Cell = fn(&UnreadReply, &ExportedFile) -> TableCell;

/// The columns of the list.
const COLUMNS: [ColumnOf<Cell>; 9] = [
    ColumnOf::full("request", Kind::Integer, |reply, _| TableCell::Integer(reply.request.0)),
    ColumnOf::full("check_name", Kind::Text, |reply, _| TableCell::text(&reply.check)),
    ColumnOf::full("idempotency_key", Kind::Text, |reply, _| TableCell::text(reply.key.to_string())),
    ColumnOf::full("state", Kind::Text, |reply, _| TableCell::text(reply.state.as_str())),
    ColumnOf::full("http_status", Kind::Integer, |reply, _| TableCell::integer(reply.http_status)),
    ColumnOf::full("received_at", Kind::Timestamp, |reply, _| TableCell::Timestamp(reply.received_at_us)),
    ColumnOf::full("file", Kind::Text, |_, file| TableCell::text(&file.path)),
    ColumnOf::full("bytes", Kind::Integer, |_, file| TableCell::integer(file.bytes)),
    ColumnOf::full("sha256", Kind::Text, |_, file| TableCell::text(&file.sha256)),
];

impl Source<'_> {
    /// Exports the replies that could not be read.
    ///
    /// # Errors
    /// The ledger cannot be read, writing fails, or it was interrupted.
    pub(super) fn unread(&self, place: &NewPlace, interrupted: &dyn Fn() -> Option<Stop>) -> Result<Exported, Error> {
        let folder = place.folder();
        sink::create_folder(&folder.join(REPLIES))?;
        let schema = Schema { columns: COLUMNS.iter().map(ColumnOf::column).collect() };
        let mut list = TableWriter::create(&folder.join(LIST), FileFormat::Jsonl, &schema)?;
        let (mut files, mut rows) = (Vec::new(), 0);
        self.reading.unread_replies(|reply| {
            if let Some(stop) = interrupted() {
                return Err(Error::Stopped(stop));
            }
            let path = format!("{REPLIES}/request-{:06}.bin", reply.request.0);
            let written = sink::write_file(&folder.join(&path), &reply.body)?;
            let file = ExportedFile::of(path, Vec::new(), written);
            list.write_row(COLUMNS.iter().map(|column| (column.cell)(&reply, &file)).collect())?;
            files.push(file);
            rows += 1;
            Ok(())
        })?;
        files.insert(0, ExportedFile::of(LIST.to_owned(), Vec::new(), list.finish()?));
        Ok(self.exported(self.counted()?, rows, files))
    }

    /// The counts of the campaign, by the ledger.
    fn counted(&self) -> Result<Vec<CheckTotals>, Error> {
        let mut counts = self.reading.counts()?;
        let totals = self.projector.checks().map(|(id, check)| {
            let counts = counts.remove(&Some(id)).unwrap_or_default();
            let (check, results, pending) = (check.name.clone(), counts.results, counts.pending);
            CheckTotals { check, results, pending, ..CheckTotals::default() }
        });
        Ok(totals.collect())
    }
}
