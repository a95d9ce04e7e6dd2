//! How a scripted reply travels over a connection. Decides nothing.

use super::reply::Travel;
use crate::support::http::{self, Connection};
use std::net::TcpStream;

/// Writes a reply. Returns `None` where the connection must end.
pub fn write(
    connection: &mut Connection<TcpStream>,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
    travel: Travel,
) -> Option<()> {
    let mut lines = format!("{status} Status");
    for (name, value) in headers {
        lines.push_str(&format!("\r\n{name}: {value}"));
    }
    let head = http::head(&lines, body.len());
    let (continues, body) = match travel {
        Travel::Whole | Travel::ThenClosed => (0, body),
        Travel::AfterContinues(count) => (count, body),
        Travel::CutAfter(bytes) => (0, &body[..bytes.min(body.len())]),
        Travel::Stalls(_) => (0, &[][..]),
        Travel::Lost => return None,
    };
    let continues = "HTTP/1.1 100 Continue\r\n\r\n".repeat(continues);
    connection.write([continues.as_bytes(), head.as_bytes(), body].concat())?;
    if let Travel::Stalls(time) = travel {
        std::thread::sleep(time);
    }
    matches!(travel, Travel::Whole | Travel::AfterContinues(_)).then_some(())
}
