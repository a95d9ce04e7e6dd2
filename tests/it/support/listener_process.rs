//! `rescreen listen` in its own process, on its own port: the receiver that outlives the runs that are killed. It ends
//! when its value is dropped.

use super::{program::BINARY, simulator_process::Guarded};
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{ChildStderr, Command, Stdio},
};

pub struct ListenerProcess {
    /// The base URL.
    pub url: String,
    _child: Guarded,
    /// Kept open, because a closed pipe would end the receiver at its next message.
    _stderr: BufReader<ChildStderr>,
}

impl ListenerProcess {
    /// Starts it with the inbox that campaigns with this state folder read, and waits until it listens.
    pub fn start(state: &Path) -> ListenerProcess {
        let mut command = Command::new(BINARY);
        command.args(["listen", "--listen", "127.0.0.1:0"]).env("XDG_STATE_HOME", state);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = Guarded(command.spawn().expect("the receiver starts"));
        let mut stderr = BufReader::new(child.0.stderr.take().expect("its standard error is a pipe"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("the receiver says where it listens");
        let rest = line.split("http://").nth(1).unwrap_or_else(|| panic!("the receiver said: {line}"));
        let address = rest.split(['/', ' ', '\n']).next().unwrap_or_default();
        ListenerProcess { url: format!("http://{address}"), _child: child, _stderr: stderr }
    }
}
