//! Deliveries to the receiver, over real connections: genuine ones are kept once, and everything else changes nothing.

mod again;
mod broken_inbox;
mod campaign;
mod dataset;
mod forged;
mod listen;
mod listening;
mod load;
mod post;
mod receiver;
mod same_receiver;
mod simulated;
mod vectors;
