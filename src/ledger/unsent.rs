//! A request that is not sent, because its upload failed. What the upload said is recorded as an attempt.

use super::{ArmOrder, Ledger, LedgerError, NotArmed, Settled, Settlement, arm::arm, settle::settle};

impl Ledger {
    /// Arms a request that is not sent, and settles it by what its upload said, in one commit: a crash must not leave it
    /// armed, because it would count as sent. If it may not be armed, only the pause that the upload asked for is kept.
    pub async fn settle_unsent(
        &self,
        order: ArmOrder,
        mut settlement: Settlement,
    ) -> Result<Result<Settled, NotArmed>, LedgerError> {
        self.write(move |store| match arm(store, &order)? {
            Ok(receipt) => {
                settlement.attempt = receipt.attempt();
                settle(store, &settlement).map(Ok)
            }
            Err(not_armed) => {
                store.sums.pause(settlement.pause_until_us, settlement.now_us);
                Ok(Err(not_armed))
            }
        })
        .await
    }
}
