//! Deliveries to the receiver, over real connections: genuine ones are kept once, and everything else changes nothing.

mod forged;
mod post;
mod receiver;
mod simulated;
mod vectors;
