//! A terminal: the program runs in it, and its lines are those that a person sees. Lines that are longer than the terminal
//! is wide fill several rows, also after it has become narrower.

use rustix::{
    fs::OFlags,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use std::{
    fs::File,
    io::{Read, Write},
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::Duration,
};

pub struct Terminal {
    end: OwnedFd,
    child: Child,
    output: Receiver<Vec<u8>>,
    columns: usize,
    /// The lines, the last of which the cursor is on.
    lines: Vec<String>,
    /// Everything that was written.
    pub raw: String,
    /// Bytes of an unfinished character or escape.
    rest: Vec<u8>,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Terminal {
    /// Starts a program in a terminal of this width.
    pub fn start(command: &mut Command, columns: u16) -> Terminal {
        let end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&end).unwrap();
        unlockpt(&end).unwrap();
        let name = ptsname(&end, Vec::new()).unwrap();
        let side = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, rustix::fs::Mode::empty()).unwrap();
        tcsetwinsize(&side, size(columns)).unwrap();
        let other = || Stdio::from(side.try_clone().unwrap());
        let child = command.stdin(other()).stdout(other()).stderr(other()).spawn().unwrap();
        // The command keeps its side of the terminal open, and reading would never end.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let (tell, output) = channel();
        let mut reader = File::from(end.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // It fails once the program has ended.
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if tell.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        drop(side);
        let columns = usize::from(columns);
        Terminal { end, child, output, columns, lines: vec![String::new()], raw: String::new(), rest: Vec::new() }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Shows what is written until a condition holds.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str, mut is_so: impl FnMut(&[String]) -> bool) {
        let mut silences = 0;
        while !is_so(&self.lines) {
            assert!(silences < 600, "timed out waiting for {what}:\n{}", self.text());
            match self.output.recv_timeout(Duration::from_millis(100)) {
                Ok(bytes) => self.write(&bytes),
                Err(RecvTimeoutError::Timeout) => silences += 1,
                Err(RecvTimeoutError::Disconnected) => {
                    assert!(is_so(&self.lines), "the program ended before {what}:\n{}", self.text());
                }
            }
        }
    }

    /// Shows what is written next.
    pub fn step(&mut self) {
        if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(500)) {
            self.write(&bytes);
        }
    }

    /// Types a text on the keyboard.
    pub fn enter(&self, text: &str) {
        File::from(self.end.try_clone().unwrap()).write_all(text.as_bytes()).unwrap();
    }

    /// Changes the width just after something was drawn.
    pub fn resize(&mut self, columns: u16) {
        let bytes = self.output.recv_timeout(Duration::from_secs(10)).expect("it draws again and again");
        self.write(&bytes);
        tcsetwinsize(&self.end, size(columns)).unwrap();
        self.columns = usize::from(columns);
    }

    /// Waits for the end of the program, and returns its exit code.
    pub fn end(&mut self) -> i32 {
        let mut silences = 0;
        loop {
            match self.output.recv_timeout(Duration::from_secs(1)) {
                Ok(bytes) => self.write(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    silences += 1;
                    assert!(silences < 60, "it does not end:\n{}", self.text());
                }
            }
        }
        self.child.wait().unwrap().code().unwrap()
    }

    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    pub fn text(&self) -> String {
        self.lines.join("\n")
    }

    fn write(&mut self, bytes: &[u8]) {
        self.raw.push_str(&String::from_utf8_lossy(bytes));
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = String::from_utf8(self.rest.drain(..whole).collect()).unwrap();
        let mut characters = text.char_indices();
        while let Some((at, c)) = characters.next() {
            match c {
                '\r' => {}
                '\n' => self.lines.push(String::new()),
                '\u{1b}' => {
                    let escape = &text[at..];
                    let Some(end) = escape.find(|c: char| c.is_ascii_alphabetic()) else {
                        let mut rest = escape.as_bytes().to_vec();
                        rest.append(&mut self.rest);
                        self.rest = rest;
                        return;
                    };
                    let number = escape[2..end].parse().unwrap_or(1);
                    match escape.as_bytes()[end] {
                        b'A' => self.up(number),
                        b'J' | b'm' => {}
                        other => panic!("unexpected escape {:?}", other as char),
                    }
                    (0..end).for_each(|_| {
                        characters.next();
                    });
                }
                c => self.lines.last_mut().unwrap().push(c),
            }
        }
    }

    /// Moves up this many rows and erases everything below: the program never does one without the other.
    fn up(&mut self, mut rows: usize) {
        assert_eq!(self.lines.last().map(String::as_str), Some(""), "the cursor is at the start of a line");
        self.lines.pop();
        while rows > 0 {
            let line = self.lines.pop().expect("there are lines above");
            let height = line.chars().count().div_ceil(self.columns).max(1);
            assert!(height <= rows, "the cursor is in the middle of `{line}` at {} columns", self.columns);
            rows -= height;
        }
        self.lines.push(String::new());
    }
}

fn size(columns: u16) -> Winsize {
    Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
