//! The server under test as a child process, with everything it writes kept.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use kaval_fake_api::{Api, wait_until};
use serde_json::{Value, json};

/// Longest wait for something that should happen at once; only a failing test waits this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);
/// Time given to something that must not happen.
pub(crate) const SILENCE: Duration = Duration::from_millis(300);
/// The key every server is given unless a test says otherwise.
pub(crate) const KEY: &str = "kv_live_test_0123456789";
/// A well-formed id.
pub(crate) const ID: &str = "7b1d2f60-93ac-4e58-8d21-0c5f6a9e3b47";

/// How to start the server.
pub(crate) struct Launch {
    command: Command,
}

impl Launch {
    /// The built binary with an empty environment.
    pub(crate) fn bare() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kaval-mcp"));
        command.env_clear();
        Self { command }
    }

    /// A key and the base URL of `api`.
    pub(crate) fn on(api: &Api) -> Self {
        Self::bare().env("KAVAL_API_KEY", KEY).env("KAVAL_BASE_URL", &api.url())
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub(crate) fn env_path(mut self, name: &str, value: &Path) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn arg(mut self, value: &str) -> Self {
        self.command.arg(value);
        self
    }

    /// Tool deadline in milliseconds; the check budget moves with it.
    pub(crate) fn deadline_ms(self, value: u64) -> Self {
        self.env("KAVAL_TOOL_DEADLINE_MS", &value.to_string())
    }

    /// Runs to the end with empty input and gives everything it wrote.
    pub(crate) fn run(mut self) -> Finished {
        let output = self.command.stdin(Stdio::null()).output().unwrap();
        Finished {
            status: output.status,
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Starts it over pipes, without a handshake.
    pub(crate) fn spawn(mut self) -> Kaval {
        let mut child =
            self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().map(|pipe| Box::new(pipe) as Input);
        let stdout = child.stdout.take().unwrap();
        Kaval::around(child, stdin, stdout)
    }

    /// Starts it and does the handshake of the newest legacy version.
    pub(crate) fn open(self) -> Kaval {
        let mut server = self.spawn();
        server.initialize("2025-11-25");
        server
    }

    /// The command itself, for cases that wire the streams differently.
    pub(crate) fn into_command(self) -> Command {
        self.command
    }
}

/// A run that has ended.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

type Input = Box<dyn Write + Send>;

/// The running server.
pub(crate) struct Kaval {
    child: Child,
    stdin: Option<Input>,
    lines: Receiver<(Instant, String)>,
    backlog: Vec<(Instant, Value)>,
    raw: Arc<Mutex<String>>,
    errors: Arc<Mutex<Vec<u8>>>,
    next_id: u64,
}

impl Kaval {
    pub(crate) fn around(mut child: Child, stdin: Option<Input>, stdout: impl Read + Send + 'static) -> Self {
        let (sender, lines) = channel();
        let raw = Arc::new(Mutex::new(String::new()));
        let all = Arc::clone(&raw);
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { return };
                all.lock().unwrap().push_str(&line);
                all.lock().unwrap().push('\n');
                if sender.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        let errors = Arc::new(Mutex::new(Vec::new()));
        if let Some(mut stderr) = child.stderr.take() {
            let kept = Arc::clone(&errors);
            thread::spawn(move || {
                let mut chunk = [0; 4096];
                while let Ok(n @ 1..) = stderr.read(&mut chunk) {
                    kept.lock().unwrap().extend_from_slice(&chunk[..n]);
                }
            });
        }
        Self { child, stdin, lines, backlog: Vec::new(), raw, errors, next_id: 0 }
    }

    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let mut line = message.to_string();
        line.push('\n');
        self.send_raw(line.as_bytes());
    }

    /// Sends a request and gives its id.
    pub(crate) fn post(&mut self, method: &str, params: &Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Starts a tool call and gives its id.
    pub(crate) fn begin(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.post("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(crate) fn cancel(&mut self, id: u64) {
        self.notify("notifications/cancelled", &json!({"requestId": id}));
    }

    /// The first message, in order of arrival, that `wanted` accepts.
    pub(crate) fn find(
        &mut self,
        limit: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Option<(Instant, Value)> {
        if let Some(at) = self.backlog.iter().position(|(_, message)| wanted(message)) {
            return Some(self.backlog.remove(at));
        }
        let end = Instant::now() + limit;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok((at, line)) => {
                    let message: Value = serde_json::from_str(&line)
                        .unwrap_or_else(|error| panic!("stdout is not JSON: {error}: {line}"));
                    if wanted(&message) {
                        return Some((at, message));
                    }
                    self.backlog.push((at, message));
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// The response to a request, whatever it is.
    pub(crate) fn response(&mut self, id: u64) -> Value {
        self.response_within(id, PATIENCE)
            .unwrap_or_else(|| panic!("no answer to {id}; stderr: {}", self.stderr()))
    }

    pub(crate) fn response_within(&mut self, id: u64, limit: Duration) -> Option<Value> {
        self.find(limit, |message| message["id"] == id && message.get("method").is_none())
            .map(|(_, message)| message)
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.post(method, params);
        self.response(id)
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let answer = self.request(
            "initialize",
            &json!({
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": {"name": "tests", "version": "1"}
            }),
        );
        self.notify("notifications/initialized", &json!({}));
        answer["result"].clone()
    }

    /// Calls a tool and gives the result object.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.begin(tool, arguments);
        self.result(id)
    }

    pub(crate) fn result(&mut self, id: u64) -> Value {
        let answer = self.response(id);
        assert!(answer.get("result").is_some(), "not a result: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must succeed and gives its text.
    pub(crate) fn success(&mut self, tool: &str, arguments: &Value) -> String {
        success_text(&self.call(tool, arguments))
    }

    /// Calls a tool that must fail and gives the error object.
    pub(crate) fn failure(&mut self, tool: &str, arguments: &Value) -> Value {
        failure_body(&self.call(tool, arguments))
    }

    /// The text of a call that must succeed.
    pub(crate) fn success_of(&mut self, id: u64) -> String {
        success_text(&self.result(id))
    }

    /// The error object of a call that must fail.
    pub(crate) fn failure_of(&mut self, id: u64) -> Value {
        failure_body(&self.result(id))
    }

    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end of the process.
    pub(crate) fn exit(&mut self, limit: Duration) -> Option<ExitStatus> {
        let child = &mut self.child;
        let mut status = None;
        let ended = wait_until(limit, || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        ended.then_some(status).flatten()
    }

    /// Everything on stderr so far.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.errors.lock().unwrap()).into_owned()
    }

    /// Everything on stdout so far.
    pub(crate) fn stdout(&self) -> String {
        self.raw.lock().unwrap().clone()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Kaval {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The text of a successful result.
pub(crate) fn success_text(result: &Value) -> String {
    assert_ne!(result["isError"], true, "failed: {result}");
    only_text(result)
}

/// The error object of a failed result: one JSON object as text, and no structured content.
pub(crate) fn failure_body(result: &Value) -> Value {
    assert_eq!(result["isError"], true, "did not fail: {result}");
    assert!(result.get("structuredContent").is_none(), "a failure has structured content: {result}");
    let text = only_text(result);
    let body: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}"));
    assert!(body["error"].is_string(), "no code: {body}");
    assert_eq!(body.to_string(), text, "not compact");
    body
}

fn only_text(result: &Value) -> String {
    let content = result["content"].as_array().unwrap();
    assert_eq!(content.len(), 1, "{result}");
    assert_eq!(content[0]["type"], "text");
    content[0]["text"].as_str().unwrap().to_owned()
}

/// Writes the messages a test needs while the child's input is something else than a pipe.
pub(crate) fn boxed(pipe: ChildStdin) -> Box<dyn Write + Send> {
    Box::new(pipe)
}

/// Arguments that every tool accepts, in the order the tools are listed.
pub(crate) fn good_calls() -> Vec<(&'static str, Value)> {
    vec![
        ("check", json!({"action": "refund the booking"})),
        ("get_receipt", json!({"receipt_id": ID})),
        ("add_source", json!({"kind": "entity", "name": "Contoso"})),
        ("list_sources", json!({})),
        ("remove_source", json!({"id": ID})),
        ("report_outcome", json!({"id": ID, "kind": "relied_and_correct"})),
        (
            "verify",
            json!({"conclusion": "The policy is current.", "evidence_refs": ["https://contoso.example/"]}),
        ),
    ]
}
