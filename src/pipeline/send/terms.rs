//! The settings of a run on which its decisions depend.

use super::{context::RunContext, gate::PUSH_BACK_MAX};
use crate::{
    model::Mode,
    pipeline::campaign::{Guards, remains::lost_a_ledger},
};
use std::{collections::BTreeMap, time::Duration};

/// The longest wait before a request is repeated in a rehearsal at full speed.
const REHEARSED_DELAY_MAX: Duration = Duration::from_millis(200);

/// What the decisions of a run depend on, beside what happens.
pub struct Terms {
    pub mode: Mode,
    /// The most requests in flight.
    pub in_flight: usize,
    /// The longest wait before a request is repeated.
    pub delay_max: Duration,
    pub guards: Guards,
    /// The least and the most rows of the input, if the user says so.
    pub expect_rows: Option<(u64, u64)>,
    /// Bodies of the campaign may name a webhook.
    pub has_webhook: bool,
    /// The route of each check.
    pub paths: BTreeMap<String, String>,
    /// Digest of the settings that decide whether a stop would happen again.
    pub settings: String,
    /// The service may still know the keys of a ledger that was lost.
    pub lost_a_ledger: bool,
    /// Other ledgers use the account.
    pub is_shared: bool,
}

impl Terms {
    /// The terms of a run.
    pub fn of(context: &RunContext) -> Terms {
        let campaign = &context.campaign;
        let jobs = context.checks.values().filter_map(|check| check.declaration.job.as_ref());
        Terms {
            mode: campaign.mode,
            in_flight: campaign.service.settings.in_flight(),
            delay_max: if campaign.service.unlimited { REHEARSED_DELAY_MAX } else { PUSH_BACK_MAX },
            guards: campaign.guards,
            expect_rows: campaign.expect_rows,
            has_webhook: jobs.into_iter().any(|job| job.webhook),
            paths: context.checks.iter().map(|(name, check)| (name.clone(), check.path.clone())).collect(),
            settings: context.settings.clone(),
            lost_a_ledger: lost_a_ledger(campaign),
            is_shared: context.purse.is_shared(),
        }
    }
}
