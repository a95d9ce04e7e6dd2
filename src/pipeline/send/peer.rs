//! Whether the simulator or the service answers. A ledger belongs to one of them for ever.

use super::context::RunContext;
use crate::error::Error;

/// Records whether the simulator or the service answers. Returns `false` if it is not the one that answered before.
pub async fn note_peer(context: &RunContext, simulated: bool) -> Result<bool, Error> {
    if let Some(peer) = context.peer.get() {
        return Ok(*peer == simulated);
    }
    let same = context.ledger.note_peer(simulated).await?;
    if same {
        context.peer.get_or_init(|| simulated);
    }
    Ok(same)
}
