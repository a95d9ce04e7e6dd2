//! A request that is not sent, because its upload failed. What the upload said is recorded as an attempt.

use super::{ArmOrder, Armed, Ledger, LedgerError, Settled, Settlement, arm::arm, settle::settle};

impl Ledger {
    /// Arms a request that is not sent, and settles it by what its upload said, in one commit: a crash must not leave it
    /// armed, because it would count as sent. If it may not be armed, nothing is recorded.
    pub async fn settle_unsent(
        &self,
        order: ArmOrder,
        mut settlement: Settlement,
    ) -> Result<Result<Settled, Armed>, LedgerError> {
        self.write(move |store| match arm(store, &order)? {
            Armed::Ready(receipt) => {
                settlement.attempt = receipt.attempt();
                settle(store, &settlement).map(Ok)
            }
            not_armed => Ok(Err(not_armed)),
        })
        .await
    }
}
