//! Jobs with real sockets and separate programs, in real time.

mod delivery_wire;
mod ten_thousand;
