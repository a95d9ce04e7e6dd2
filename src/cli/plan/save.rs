//! `plan --save`: writes the settings of a command line as a campaign file, so that the next commands are short.

use crate::cli::{
    campaign_args::{CAMPAIGN_FILE, CampaignArgs, CorrectionArgs, Rehearsal},
    init,
    program::program,
};
use rescreen::{
    Error,
    pipeline::campaign::{campaign_text, file::CampaignFile},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A campaign file to write, and the command line that means the same with it.
pub struct Saved {
    path: PathBuf,
    text: String,
    /// The command line of `plan`.
    pub words: Vec<String>,
}

impl Saved {
    /// # Errors
    /// The file exists, there is a campaign file already, or a flag is wrong.
    pub fn new(path: &Path, args: &CampaignArgs, corrections: &CorrectionArgs) -> Result<Saved, Error> {
        let refused = |fault: &str| Err(Error::Config(format!("--save {}: {fault}", path.display())));
        if let Some(used) = args.file_in_use() {
            return refused(&format!(
                "this command reads its settings from {} already; write what its flags add into that file",
                used.display()
            ));
        }
        if fs::symlink_metadata(path).is_ok() {
            return refused("this file exists and is not overwritten; name another file");
        }
        // `--simulate` changes the output folder, and the file must name that of the campaign.
        let flags = CampaignArgs { simulate: None, ..args.clone() };
        let file = flags.merged(CampaignFile::default(), path.parent().unwrap_or(Path::new("")))?;
        let text = match campaign_text(&file) {
            Ok(text) => format!("# Written by `rescreen plan --save`.\n\n{text}"),
            Err(fault) => return refused(&fault),
        };
        Ok(Saved { path: path.to_owned(), text, words: words(path, args, corrections) })
    }

    /// # Errors
    /// The file cannot be written.
    pub fn write(&self) -> Result<(), Error> {
        init::write(&self.path, "--save", &self.text, false)
    }
}

/// The command line of a plan that reads the campaign file, with the flags that no campaign file replaces.
fn words(path: &Path, args: &CampaignArgs, corrections: &CorrectionArgs) -> Vec<String> {
    let mut words = vec![program(), "plan".to_owned()];
    let mut add = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
    let CampaignArgs { settings, service_moved_from, simulate, .. } = args;
    if path.as_os_str() != CAMPAIGN_FILE {
        add("-c", path.display().to_string());
    }
    settings.input.limit.into_iter().for_each(|rows| add("--limit", rows.to_string()));
    if let Some((least, most)) = settings.input.expect_rows {
        add("--expect-rows", if least == most { least.to_string() } else { format!("{least}..{most}") });
    }
    settings.service.proxy_flag.iter().for_each(|url| add("--proxy", url.clone()));
    service_moved_from.iter().for_each(|url| add("--service-moved-from", url.clone()));
    words.extend(corrections.words());
    words.extend(simulate.map(|pace| match pace {
        Rehearsal::Fast => "--simulate".to_owned(),
        Rehearsal::Realtime => "--simulate=realtime".to_owned(),
    }));
    words
}
