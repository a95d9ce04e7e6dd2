//! Deliveries of the service: a signed message that says that a job has news. This module decides which deliveries are
//! genuine, and keeps them until a campaign has read them. A delivery only says where to look: the result of a job is
//! always read from the service.
//!
//! | file | noun |
//! |---|---|
//! | `signature` | the secret of a receiver, and the signature over a delivery |
//! | `delivery` | what a genuine delivery is about |
//! | `inbox` | the database of the deliveries, which is separate from every ledger |
//! | `receivers` | the receivers that an inbox knows, and the campaigns whose requests name them |
//! | `store` | the thread that writes to the inbox |
//! | `receive` | the HTTP server |

mod delivery;
mod inbox;
mod receive;
mod receivers;
mod signature;
mod store;

pub use delivery::{Delivery, EVENT_ID};
pub use inbox::{DATASET_UPDATES, Inbox, InboxError, Newest, ReceiverId, Unread};
pub use receive::{PATH, Received, is_healthy, receive};
pub use receivers::Namer;
pub use signature::{Forged, SIGNATURE, TIMESTAMP, TOLERANCE, WebhookSecret, is_hmac, verify};
