//! `rescreen listen` as a program of its own, and deliveries to it.

use super::post::{SECRET, receiver, status};
use crate::support::{
    program::{Said, UnderWay, rescreen, shell},
    simulator_process::Guarded,
};
use rescreen::webhook::{Inbox, Unread, WebhookSecret};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::JoinHandle,
    time::Duration,
};

/// The receiver as a program.
pub struct Listening {
    child: Guarded,
    /// What it says first: where it listens.
    pub first: String,
    rest: JoinHandle<String>,
    pub address: String,
}

impl Listening {
    /// Starts it in a folder with these arguments, on its own port, and waits until it listens.
    pub fn start(folder: &Path, arguments: &[&str]) -> Listening {
        let words = [&["listen", "--listen", "127.0.0.1:0", "-vv"], arguments].concat();
        Listening::of(&mut rescreen(folder, &words))
    }

    /// The same, with an environment variable.
    pub fn with_variable(folder: &Path, arguments: &[&str], name: &str, value: &str) -> Listening {
        let words = [&["listen", "--listen", "127.0.0.1:0", "-vv"], arguments].concat();
        Listening::of(rescreen(folder, &words).env(name, value))
    }

    /// The same, with a limit for the size of files.
    pub fn under(folder: &Path, limit: &str, arguments: &str) -> Listening {
        let line = format!("{limit}; exec rescreen listen --listen 127.0.0.1:0 -vv {arguments}");
        Listening::of(&mut shell(folder, &line))
    }

    fn of(command: &mut Command) -> Listening {
        let mut child = Guarded(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
        let mut stderr = BufReader::new(child.0.stderr.take().unwrap());
        let (mut all, mut address) = (String::new(), None);
        while address.is_none() {
            assert!(stderr.read_line(&mut all).unwrap() > 0, "it did not listen:\n{all}");
            let line = all.lines().last().unwrap_or_default();
            address = line
                .split("listening for deliveries on http://")
                .nth(1)
                .map(|rest| rest.split('/').next().unwrap().to_owned());
        }
        let first = all.lines().last().unwrap().to_owned();
        let rest = std::thread::spawn(move || {
            stderr.read_to_string(&mut all).unwrap();
            all
        });
        Listening { child, first, rest, address: address.unwrap() }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Sends a request, and reads the status of the reply; 0 if there was none.
    pub fn send(&self, request: &[u8]) -> u16 {
        let Ok(mut stream) = TcpStream::connect(&self.address) else { return 0 };
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let _ = stream.write_all(request);
        status(&mut stream)
    }

    pub fn terminate(&self) {
        let sent = Command::new("kill").args(["-TERM", &self.child.0.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end. Returns its exit code, and all that it said.
    pub fn ended(mut self) -> (i32, String) {
        let code = self.child.0.wait().unwrap().code().unwrap();
        (code, self.rest.join().unwrap())
    }

    /// Tells it to stop, and waits for its end.
    pub fn stopped(self) -> (i32, String) {
        self.terminate();
        self.ended()
    }
}

/// An inbox in a folder, which knows the usual receiver.
pub fn inbox_in(folder: &Path) -> PathBuf {
    let path = folder.join("inbox.sqlite");
    let secret = WebhookSecret::new(SECRET.to_owned().into()).unwrap();
    Inbox::open(&path).unwrap().register(&receiver(), &secret, 1).unwrap();
    path
}

/// What an inbox has for the usual receiver.
pub fn events_in(path: &Path) -> Vec<Unread> {
    Inbox::open(path).unwrap().after(&[receiver()], 0, 1_000_000).unwrap()
}

/// The program with arguments that it refuses.
pub fn refused(folder: &Path, arguments: &[&str]) -> Said {
    UnderWay::start(&mut rescreen(folder, &[&["listen"], arguments].concat())).wait()
}
