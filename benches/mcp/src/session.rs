//! One server process and the two streams to it.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Read at once: many answers fit, so that the driver is not what limits.
const BUFFER_BYTES: usize = 256 * 1024;

/// A server to measure.
pub(crate) struct Subject {
    pub(crate) name: String,
    command: Vec<String>,
}

/// What stdin and stdout are.
#[derive(Clone, Copy)]
pub(crate) enum Streams {
    /// What a shell or a Python host gives.
    Fifos,
    /// What a Node host gives.
    UnixSockets,
}

impl Subject {
    pub(crate) fn from_arguments(arguments: impl Iterator<Item = String>) -> Vec<Self> {
        let all: Vec<String> = arguments.collect();
        all.split(|argument| argument == "--")
            .filter(|words| !words.is_empty())
            .map(|words| {
                let (name, program) = words[0].split_once('=').unwrap();
                let mut command = vec![program.to_owned()];
                command.extend_from_slice(&words[1..]);
                Self { name: name.to_owned(), command }
            })
            .collect()
    }

    /// Size of the program, if it is one file that holds all of the server.
    pub(crate) fn binary_megabytes(&self) -> Option<f64> {
        if self.command.len() > 1 {
            return None;
        }
        let bytes = fs::metadata(&self.command[0]).ok()?.len();
        Some(bytes as f64 / 1e6)
    }
}

/// A started server, `initialize` answered.
pub(crate) struct Session {
    child: Child,
    input: Option<Box<dyn Write>>,
    output: Box<dyn Read>,
    buffer: Vec<u8>,
    /// Bytes of the last read.
    filled: usize,
    next_id: usize,
}

impl Session {
    pub(crate) fn start(subject: &Subject, url: &str, streams: Streams) -> Self {
        let mut command = Command::new(&subject.command[0]);
        command
            .args(&subject.command[1..])
            .env("KAVAL_API_KEY", "bench")
            .env("KAVAL_BASE_URL", url)
            .stderr(Stdio::inherit());
        let (child, input, output): (Child, Box<dyn Write>, Box<dyn Read>) = match streams {
            Streams::Fifos => {
                let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
                let input = child.stdin.take().unwrap();
                let output = child.stdout.take().unwrap();
                (child, Box::new(input), Box::new(output))
            }
            Streams::UnixSockets => {
                let (input, child_input) = UnixStream::pair().unwrap();
                let (output, child_output) = UnixStream::pair().unwrap();
                let child = command
                    .stdin(Stdio::from(OwnedFd::from(child_input)))
                    .stdout(Stdio::from(OwnedFd::from(child_output)))
                    .spawn()
                    .unwrap();
                (child, Box::new(input), Box::new(output))
            }
        };
        let mut session =
            Self { child, input: Some(input), output, buffer: vec![0; BUFFER_BYTES], filled: 0, next_id: 1 };
        session.write(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n");
        session.read_lines();
        session.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        session
    }

    fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Reads until at least one line is complete and gives how many were.
    fn read_lines(&mut self) -> usize {
        let mut lines = 0;
        loop {
            let n = self.output.read(&mut self.buffer).unwrap();
            assert!(n > 0, "the server ended");
            self.filled = n;
            let chunk = &self.buffer[..n];
            lines += chunk.iter().filter(|byte| **byte == b'\n').count();
            if lines > 0 && chunk.ends_with(b"\n") {
                return lines;
            }
        }
    }

    fn push_call(&mut self, out: &mut Vec<u8>) {
        let id = self.next_id;
        self.next_id += 1;
        writeln!(out, "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"check\",\"arguments\":{{\"action\":\"refund booking {id} to the customer\",\"mode\":\"fast\"}}}}}}").unwrap();
    }

    /// One call, start to answer.
    pub(crate) fn call(&mut self) {
        let mut out = Vec::new();
        self.push_call(&mut out);
        self.write(&out);
        let lines = self.read_lines();
        assert_eq!(lines, 1);
        let answer = String::from_utf8_lossy(&self.buffer[..self.filled]);
        assert!(answer.contains("decision"), "no verdict came back: {answer}");
    }

    /// `total` calls with at most `in_flight` unanswered.
    pub(crate) fn bulk(&mut self, total: usize, in_flight: usize) {
        let mut out = Vec::new();
        let first = in_flight.min(total);
        for _ in 0..first {
            self.push_call(&mut out);
        }
        self.write(&out);
        let (mut sent, mut answered) = (first, 0);
        while answered < total {
            let lines = self.read_lines();
            answered += lines;
            out.clear();
            let next = lines.min(total - sent);
            for _ in 0..next {
                self.push_call(&mut out);
            }
            sent += next;
            if !out.is_empty() {
                self.write(&out);
            }
        }
    }

    /// CPU time of all threads so far.
    pub(crate) fn cpu(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let nanos = tasks
            .filter_map(|task| fs::read_to_string(task.ok()?.path().join("schedstat")).ok())
            .filter_map(|text| text.split(' ').next()?.parse::<u64>().ok())
            .sum();
        Duration::from_nanos(nanos)
    }

    pub(crate) fn resident_mib(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib / 1024.0
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
