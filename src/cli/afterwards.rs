//! What a finished run says about what to do next: the command that shows the state of its campaign, how to look at the
//! results, and after a rehearsal how to get to the real run.

use super::{
    campaign_args::CAMPAIGN_FILE,
    output::{Message, OutputArgs, message},
    program::program,
};
use rescreen::{
    model::{Mode, shell_words::quoted},
    pipeline::{Campaign, RunReport},
    sink::OutputFormat,
};
use std::path::{Path, PathBuf};

/// What a report does not say about its campaign.
pub struct Afterwards {
    /// Its output folder, or its ledger if that is in another folder.
    place: PathBuf,
    format: OutputFormat,
    file: Option<PathBuf>,
    mode: Mode,
    has_url: bool,
    has_id: bool,
    has_limit: bool,
    /// The first check without a known price.
    unpriced: Option<String>,
}

impl Afterwards {
    /// Call it before the built-in simulator is started, which changes the service of the campaign.
    pub fn of(campaign: &Campaign) -> Afterwards {
        let is_inside = campaign.out.join("ledger.sqlite") == campaign.ledger;
        Afterwards {
            place: if is_inside { campaign.out.clone() } else { campaign.ledger.clone() },
            format: campaign.format,
            file: campaign.file.clone(),
            mode: campaign.mode,
            has_url: campaign.service.settings.url.is_some(),
            has_id: campaign.id.is_some(),
            has_limit: campaign.allowance.limit.is_some(),
            unpriced: campaign
                .uses
                .iter()
                .map(|one| one.check.clone())
                .find(|name| !campaign.prices.contains_key(name)),
        }
    }

    /// Prints the lines, unless `--quiet` is given.
    pub fn print(&self, report: &RunReport, output: &OutputArgs) {
        if !output.quiet {
            self.lines(report).iter().for_each(|line| message(Message::ToCopy, line));
        }
    }

    /// None if the campaign is not finished.
    fn lines(&self, report: &RunReport) -> Vec<String> {
        if !report.is_finished() {
            return Vec::new();
        }
        let status = [program(), "status".to_owned(), self.place.display().to_string()];
        let mut lines = vec![format!("its state: {}", quoted(&status))];
        let totals = report.manifest.iter().flat_map(|manifest| &manifest.totals);
        let results: u64 = totals.map(|totals| totals.results).sum();
        if results > 0 {
            let out = report.out.display().to_string();
            let show = [program(), "show".to_owned(), out.clone()];
            lines.push(format!("its results: {}", quoted(&show)));
            let name = report.out.file_name().unwrap_or_default().to_string_lossy();
            let workbook = format!("{name}-results.xlsx");
            let export = [program(), "export".to_owned(), out, "--to".to_owned(), workbook];
            lines.push(format!("as a workbook: {}", quoted(&export)));
            lines.push(format!("in DuckDB: {}", query(&report.out, self.format)));
        }
        if report.rehearsal && !report.remarks.collected {
            let (failures, rejected) = (report.failures(), report.sums.unmapped + report.sums.unreadable);
            lines.push(match () {
                () if results > failures => self.real_run(),
                () if results + failures == 0 => {
                    "before the real run, look at the list: it has no row to check".to_owned()
                }
                () if rejected * 2 >= failures => {
                    "before the real run, correct the list or its mapping, because most asks failed; then rehearse again \
                     with another --campaign"
                        .to_owned()
                }
                () => "most asks got no answer, which says nothing about the list: failures.csv has the reasons. For \
                       another rehearsal, use another --campaign"
                    .to_owned(),
            });
        }
        lines
    }

    /// What is missing for the real run, and the command that plans it.
    fn real_run(&self) -> String {
        let mut missing: Vec<String> = Vec::new();
        let mut needs = |is_needed: bool, in_file: &str, flag: &str| {
            let what = if self.file.is_some() { in_file } else { flag };
            missing.extend(is_needed.then(|| what.to_owned()));
        };
        needs(!self.has_url, "[service] url", "--service URL");
        needs(!self.has_id, "[input] id", "--id COLUMN");
        if let Some(check) = &self.unpriced {
            needs(true, "[budget] prices", &format!("--price {check}=N"));
        }
        needs(!self.has_limit, "[budget] max_credits", "--max-credits N");
        needs(self.mode == Mode::Sandbox, "mode = \"production\"", "--mode production --campaign NAME");
        let Some(file) = &self.file else {
            let flags = missing.join(" ");
            return format!(
                "the real run: set RESCREEN_API_KEY, then `rescreen plan` with {flags} instead of --simulate"
            );
        };
        let mut plan = vec![program(), "plan".to_owned()];
        if file != Path::new(CAMPAIGN_FILE) {
            plan.extend(["-c".to_owned(), file.display().to_string()]);
        }
        let first = if missing.is_empty() {
            String::new()
        } else {
            format!("set {} in {}, ", missing.join(", "), file.display())
        };
        format!("the real run: {first}set the API key, then: {}", quoted(&plan))
    }
}

/// A query that counts the results.
pub fn query(out: &Path, format: OutputFormat) -> String {
    let (reader, ending) = match format {
        OutputFormat::Parquet => ("read_parquet", "parquet"),
        OutputFormat::Jsonl => ("read_json", "jsonl"),
    };
    let files = out.join(format!("results/**/*.{ending}")).display().to_string().replace('\'', "''");
    format!("SELECT check_name, verdict, finding, count(*) FROM {reader}('{files}', union_by_name = true) GROUP BY ALL")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: Option<&str>, mode: Mode, is_set: bool) -> String {
        let file = file.map(PathBuf::from);
        let place = PathBuf::from("out/rehearsals/book");
        let (has_url, has_id, has_limit) = (is_set, is_set, is_set);
        let unpriced = (!is_set).then(|| "vin-decode".to_owned());
        Afterwards { place, format: OutputFormat::Parquet, file, mode, has_url, has_id, has_limit, unpriced }.real_run()
    }

    #[test]
    fn the_way_to_the_real_run_names_what_is_missing() {
        assert_eq!(
            of(Some("rescreen.toml"), Mode::Sandbox, false).split(" then: ").next().unwrap(),
            "the real run: set [service] url, [input] id, [budget] prices, [budget] max_credits, mode = \"production\" in \
             rescreen.toml, set the API key,"
        );
        let set = of(Some("a/b.toml"), Mode::Production, true);
        assert!(
            set.starts_with("the real run: set the API key, then: ") && set.ends_with(" plan -c a/b.toml"),
            "{set}"
        );
        let flags = of(None, Mode::Sandbox, false);
        assert!(
            flags.contains(
                "with --service URL --id COLUMN --price vin-decode=N --max-credits N --mode production --campaign NAME "
            ),
            "{flags}"
        );
    }

    #[test]
    fn a_quotation_mark_in_a_path_does_not_end_the_text_of_the_query() {
        let query = query(Path::new("it's"), OutputFormat::Jsonl);
        assert!(query.contains("read_json('it''s/results/**/*.jsonl', "), "{query}");
    }
}
