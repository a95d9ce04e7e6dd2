//! What must be true for any bytes at each place that reads external data. Each check is called by the fuzz target with
//! its name, and by the stable tests, which replay the corpus and mutations of it. It panics if its guarantee is
//! broken.

pub mod campaign_file;
mod charges;
pub mod compressed;
pub mod csv;
pub mod delivery;
pub mod encoded;
pub mod file;
pub mod folder;
pub mod form;
pub mod job;
pub mod jsonl;
pub mod ledger_open;
pub mod manifest;
pub mod receiver;
mod records;
pub mod reply;
pub mod retry_after;
pub mod screening;
pub mod sheet;
mod stage;
pub mod template;
pub mod upload_reply;
pub mod xlsx;

/// A check, with the name of its target.
pub type Check = (&'static str, fn(&[u8]));

/// All checks.
pub const CHECKS: [Check; 18] = [
    ("csv", csv::check),
    ("jsonl", jsonl::check),
    ("campaign_file", campaign_file::check),
    ("template", template::check),
    ("retry_after", retry_after::check),
    ("reply", reply::check),
    ("screening", screening::check),
    ("manifest", manifest::check),
    ("ledger_open", ledger_open::check),
    ("compressed", compressed::check),
    ("encoded", encoded::check),
    ("sheet", sheet::check),
    ("upload_reply", upload_reply::check),
    ("file", file::check),
    ("form", form::check),
    ("job", job::check),
    ("delivery", delivery::check),
    ("receiver", receiver::check),
];
