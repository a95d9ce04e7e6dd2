//! What a run says about requests that are answered with HTTP 409 until the end. `pipeline/send/guards.rs` counts them.
//! Everything that is part of a body, but
//! not of its key, can be the cause.

use super::shared_words::SharedWords;
use std::collections::BTreeMap;

/// The kinds of lasting conflicts that are shown.
const KINDS_MAX: usize = 3;

/// The requests that got HTTP 409 to the last attempt of a run, by check and by the service's code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastingConflicts(BTreeMap<(String, String), SharedWords>);

impl LastingConflicts {
    /// Adds a request of this check, with the code and the message of its last reply.
    pub fn add(&mut self, check: &str, code: &str, message: &str) {
        self.0.entry((check.to_owned(), code.to_owned())).or_default().add(check, message);
    }

    /// The number of requests.
    pub fn count(&self) -> u64 {
        self.0.values().map(SharedWords::count).sum()
    }

    /// What to do about them, a line for each kind. `resolve` is the command that lists them.
    pub fn lines(&self, resolve: &str) -> Vec<String> {
        let line = |((check, code), words): (&(String, String), &SharedWords)| {
            let requests = match words.count() {
                1 => "1 request".to_owned(),
                count => format!("{count} requests"),
            };
            let said = words.shown().map(|words| format!(": {words}")).unwrap_or_default();
            let (code, declare) = match code.as_str() {
                "" => ("no code", String::new()),
                code => (
                    code,
                    format!(
                        "If {code} means that it failed to process the request, declare that code in \
                         `[declaration.cached_failure]` (`rescreen checks {check} --toml` prints the declaration) and \
                         run again. "
                    ),
                ),
            };
            format!(
                "{requests} of {check} got HTTP 409 until the end ({code}{said}), and may have been charged. Unless the \
                 service is still working on it, running again will not help. {declare}Otherwise ask the service, and \
                 decide with `{resolve}`"
            )
        };
        let mut lines: Vec<String> = self.0.iter().take(KINDS_MAX).map(line).collect();
        if let Some(more) = self.0.len().checked_sub(KINDS_MAX).filter(|more| *more > 0) {
            lines.push(format!("and {more} more kinds of HTTP 409"));
        }
        lines
    }
}

/// What to do after this many conflicts. `has_webhook` if bodies of the campaign may name a webhook.
pub fn conflicts(count: u64, has_webhook: bool) -> String {
    let webhook = if has_webhook {
        ". The webhook is part of these bodies: name the same --webhook-url as before, or none if there was none; if the \
         ledger and the inbox of deliveries were both lost, restore one of them"
    } else {
        ""
    };
    format!(
        "{count} different requests in a row were answered with HTTP 409: the service knows their idempotency keys with \
         another body, or is still working on them. If the ledger of this campaign was lost, or a default or a \
         declaration changed, restore it, or start a new campaign with --campaign NAME; otherwise run again in a few \
         minutes{webhook}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lasting_conflicts_are_counted_by_what_the_service_said() {
        let mut lasting = LastingConflicts::default();
        for request in 0..5 {
            lasting.add("aml-screening", "CONFLICT", &format!("the key is known, for {request}"));
        }
        lasting.add("aml-screening", "", "busy with Ada");
        let lines = lasting.lines("rescreen resolve out --list --include-in-doubt");
        assert_eq!((lasting.count(), lines.len()), (6, 2));
        let first = "1 request of aml-screening got HTTP 409 until the end (no code), and may";
        assert!(lines[0].starts_with(first) && !lines[0].contains("declare"), "one person is not shown: {lines:?}");
        assert!(
            lines[1].starts_with("5 requests") && lines[1].contains("(CONFLICT: the key is known, for …)"),
            "{lines:?}"
        );
        for kind in 0..5 {
            lasting.add("aml-screening", &format!("KIND_{kind}"), "");
        }
        assert!(lasting.lines("x").last().unwrap().starts_with("and 4 more kinds"));
    }

    #[test]
    fn only_a_campaign_with_a_webhook_is_told_of_it() {
        assert!(conflicts(5, true).contains("--webhook-url") && conflicts(5, true).starts_with("5 different requests"));
        assert!(!conflicts(5, false).contains("webhook"));
    }
}
