//! The simulator in its own process: a service that outlives the run that is killed, and a witness that shares no
//! memory with it. It ends when its value is dropped, also when a test panics.

use rescreen::simulator::Stats;
use serde::de::DeserializeOwned;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStderr, Command, Stdio},
    time::Duration,
};

/// A child process that is killed when this is dropped.
pub struct Guarded(pub Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// `rescreen simulate` on its own port.
pub struct SimulatorProcess {
    address: String,
    _child: Guarded,
    /// Kept open, because a closed pipe would end the simulator at its next message.
    _stderr: BufReader<ChildStderr>,
}

impl SimulatorProcess {
    /// Starts it with these flags in addition to `--listen`, and waits until it listens.
    pub fn start(flags: &[&str]) -> SimulatorProcess {
        SimulatorProcess::start_at("127.0.0.1:0", flags)
    }

    /// The same at an address.
    pub fn start_at(address: &str, flags: &[&str]) -> SimulatorProcess {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rescreen"));
        command.args(["simulate", "--listen", address]).args(flags);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = Guarded(command.spawn().expect("the simulator starts"));
        let mut stderr = BufReader::new(child.0.stderr.take().expect("its standard error is a pipe"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("the simulator says where it listens");
        let rest = line.split("http://").nth(1).unwrap_or_else(|| panic!("the simulator said: {line}"));
        let address = rest.split([';', ' ', '\n']).next().unwrap_or_default().to_owned();
        SimulatorProcess { address, _child: child, _stderr: stderr }
    }

    /// The base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it saw and charged so far.
    pub fn stats(&self) -> Stats {
        self.page("stats")
    }

    /// One of its pages: `stats`, or `book`, the credits by idempotency key.
    pub fn page<T: DeserializeOwned>(&self, name: &str) -> T {
        let mut stream = TcpStream::connect(&self.address).expect("the simulator answers");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time-out is not zero");
        let host = &self.address;
        write!(stream, "GET /_simulator/{name} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")
            .expect("it reads");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("it writes");
        let body = reply.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("the simulator's {name}: {error}: {reply}"))
    }
}
