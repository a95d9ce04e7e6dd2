//! A built-in declaration as text for a campaign file, to be pasted and corrected.

/// A declaration in the format of a campaign file: its tables are under `declaration`.
pub(super) fn for_a_campaign_file(text: &str) -> String {
    let line = |line: &str| match (line.strip_prefix("[["), line.strip_prefix('[')) {
        (Some(list), _) => format!("[[declaration.{list}"),
        (None, Some(table)) => format!("[declaration.{table}"),
        (None, None) => line.to_owned(),
    };
    std::iter::once("[[declaration]]".to_owned()).chain(text.lines().map(line)).collect::<Vec<_>>().join("\n")
}
