//! HTTP/1.1 over a socket, by hand: one message in, one reply out. Decides nothing.

use super::reply::Travel;
use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
};

/// A message as it arrived.
pub struct Message {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

/// Reads a message; `None` where the other end has closed the connection.
pub fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Message>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim().split_once(':') {
            Some((name, value)) => _ = headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => break,
        }
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Message { method, path, headers, body }))
}

/// Writes a reply. Returns whether the connection stays open.
pub fn write(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
    travel: Travel,
) -> io::Result<bool> {
    let mut head = String::new();
    if let Travel::AfterContinues(count) = travel {
        head.push_str(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(count));
    }
    head.push_str(&format!("HTTP/1.1 {status} Status\r\ncontent-length: {}\r\n", body.len()));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let sent = match travel {
        Travel::Lost | Travel::Stalls(_) => &[],
        Travel::CutAfter(bytes) => &body[..bytes.min(body.len())],
        _ => body,
    };
    if travel != Travel::Lost {
        stream.write_all(&[head.as_bytes(), sent].concat())?;
        stream.flush()?;
    }
    if let Travel::Stalls(time) = travel {
        std::thread::sleep(time);
    }
    let stays = matches!(travel, Travel::Whole | Travel::AfterContinues(_));
    if !stays {
        drop(stream.shutdown(Shutdown::Both));
    }
    Ok(stays)
}
