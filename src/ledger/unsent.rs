//! Requests that are not sent: what the upload said if it failed, and the turn of a request that was armed.

use super::{ArmOrder, Ledger, LedgerError, NotArmed, Settled, Settlement, arm::arm, settle::settle};

impl Ledger {
    /// Settles a request that was armed and is not sent, for a reason that is not its own. It keeps its turn: if it counted
    /// as tried just now, requests that every run refuses could come before it in every run.
    pub async fn take_back(&self, settlement: Settlement) -> Result<Settled, LedgerError> {
        self.write(move |store| {
            let id = settlement.request.0;
            let turn = store.armed.get(&id).map(|row| row.last_attempt);
            let settled = settle(store, &settlement)?;
            // A request without an earlier attempt has no earlier turn.
            if let Some(turn) = turn.filter(|turn| *turn > 0) {
                let sql = "UPDATE request SET last_attempt = ?2 WHERE id = ?1";
                store.conn.prepare_cached(sql)?.execute([id, turn])?;
            }
            Ok(settled)
        })
        .await
    }

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
