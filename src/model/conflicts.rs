//! What a run says after several requests in a row were answered with HTTP 409. Everything that is part of a body, but
//! not of its key, can be the cause.

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
    fn only_a_campaign_with_a_webhook_is_told_of_it() {
        assert!(conflicts(5, true).contains("--webhook-url") && conflicts(5, true).starts_with("5 different requests"));
        assert!(!conflicts(5, false).contains("webhook"));
    }
}
