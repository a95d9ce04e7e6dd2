//! Servers that keep a run waiting for real, and ledgers on which a run must end soon.

mod job_route;
mod tampered;
