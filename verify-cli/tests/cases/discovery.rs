//! Key discovery against a server on loopback that answers with prepared bytes.

use super::support::{AT, KEY_ID, Run, active_keyset, input, keyset, run};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A server that answers one request and hands that request back.
struct Server {
    url: String,
    request: JoinHandle<String>,
}

impl Server {
    fn new(response: Vec<u8>) -> Self {
        Self::stalling(response, Duration::ZERO)
    }

    /// A server that keeps the connection open for a while after its answer.
    fn stalling(response: Vec<u8>, stall: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/keys?a=b%20c", listener.local_addr().expect("an address"));
        let request = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                request.extend(byte);
            }
            // A client that has seen enough hangs up, which is no failure of the server.
            let _ = stream.write_all(&response);
            thread::sleep(stall);
            let _ = stream.shutdown(Shutdown::Both);
            String::from_utf8(request).expect("UTF-8")
        });
        Self { url, request }
    }

    fn verify(&self) -> Run {
        let receipt = input("allow.json");
        let receipt = receipt.to_str().expect("UTF-8");
        run(&["verify", receipt, "--key-url", &self.url, "--allow-http-loopback", "--at", AT])
    }
}

fn response(head: &str, body: &[u8]) -> Vec<u8> {
    [
        format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len()).as_bytes(),
        body,
    ]
    .concat()
}

fn outcome(response: Vec<u8>) -> (i32, String) {
    let run = Server::new(response).verify();
    (run.code, run.failure_code())
}

fn ended(code: i32, name: &str) -> (i32, String) {
    (code, name.to_owned())
}

#[test]
fn the_exact_url_is_asked_for_without_credentials() {
    let server =
        Server::new(response("200 OK\r\nContent-Type: application/json", active_keyset().as_bytes()));
    let run = server.verify();
    assert_eq!((run.code, run.failure_code()), ended(0, "accepted"), "{run:?}");
    let request = server.request.join().expect("a request");
    let lower = request.to_ascii_lowercase();
    assert!(request.starts_with("GET /keys?a=b%20c HTTP/1.1\r\n"), "{request}");
    assert!(lower.contains("\r\naccept: application/json\r\n"), "{request}");
    assert!(lower.contains("\r\nuser-agent: receipt-verify/"), "{request}");
    assert!(!lower.contains("authorization") && !lower.contains("cookie"), "{request}");
}

#[test]
fn only_status_200_is_an_answer() {
    let body = active_keyset();
    let statuses = ["201 Created", "204 No Content", "300 X", "304 Not Modified", "404 Not Found", "500 X"];
    for status in statuses {
        assert_eq!(outcome(response(status, body.as_bytes())), ended(2, "unreadable"), "{status}");
    }
}

#[test]
fn redirects_are_not_followed() {
    let target = Server::new(response("200 OK", active_keyset().as_bytes()));
    for status in ["301 Moved", "302 Found", "303 See Other", "307 X", "308 X"] {
        let head = format!("{status}\r\nLocation: {}", target.url);
        let run = Server::new(response(&head, b"")).verify();
        assert_eq!((run.code, run.failure_code()), ended(2, "unreadable"), "{status}");
        assert!(run.stdout.contains("redirects"), "{run:?}");
    }
    assert!(!target.request.is_finished());
}

#[test]
fn the_content_type_must_be_json_or_absent() {
    let body = active_keyset();
    for (content_type, code) in [
        ("application/json", 0),
        ("APPLICATION/JSON ; charset=utf-8", 0),
        ("application/jwk-set+json", 0),
        ("", 0),
        ("text/html", 2),
        ("text/json", 2),
        ("application/jsonp", 2),
    ] {
        let head = format!("200 OK\r\nContent-Type: {content_type}");
        assert_eq!(outcome(response(&head, body.as_bytes())).0, code, "{content_type}");
    }
}

#[test]
fn the_body_is_limited_declared_or_not() {
    let padded = |length: usize| {
        let mut body = active_keyset();
        body.extend(std::iter::repeat_n(' ', length - body.len()));
        body.into_bytes()
    };
    assert_eq!(outcome(response("200 OK", &padded(262_144))), ended(0, "accepted"));
    assert_eq!(outcome(response("200 OK", &padded(262_145))), ended(2, "unreadable"));
    let undeclared =
        |length| [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec(), padded(length)].concat();
    assert_eq!(outcome(undeclared(262_144)), ended(0, "accepted"));
    assert_eq!(outcome(undeclared(300_000)), ended(2, "unreadable"));
    let lied = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}".to_vec();
    assert_eq!(outcome(lied), ended(2, "unreadable"));
    let invalid = b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{}".to_vec();
    assert_eq!(outcome(invalid), ended(2, "unreadable"));
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{".to_vec();
    assert_eq!(outcome(cut), ended(2, "unreadable"));
}

#[test]
fn the_body_must_be_strict_utf_8_json_with_the_key() {
    let body = active_keyset();
    let bom = format!("\u{feff}{body}");
    assert_eq!(outcome(response("200 OK", bom.as_bytes())), ended(0, "accepted"));
    let other = body.replace(KEY_ID, "other");
    let unusable = keyset(r#","lifecycle":{"status":"lost"}"#);
    let twice = format!("\u{feff}\u{feff}{body}");
    assert_eq!(outcome(response("200 OK", other.as_bytes())), ended(3, "key_unknown"));
    for body in [b"<html>".as_slice(), b"", b"\xFF{}", twice.as_bytes(), unusable.as_bytes()] {
        assert_eq!(outcome(response("200 OK", body)), ended(2, "keys_malformed"), "{body:?}");
    }
}

#[test]
fn nobody_is_waited_for_beyond_the_timeout() {
    let stall = Duration::from_secs(15);
    for response in [Vec::new(), b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{".to_vec()] {
        let started = Instant::now();
        let run = Server::stalling(response, stall).verify();
        assert_eq!((run.code, run.failure_code()), ended(2, "unreadable"));
        assert!(run.stdout.contains("5000 ms"), "{run:?}");
        assert!(started.elapsed() < stall, "{:?}", started.elapsed());
    }
}

#[test]
fn a_refused_connection_is_unreadable() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    drop(listener);
    let receipt = input("allow.json");
    let receipt = receipt.to_str().expect("UTF-8");
    let run = run(&["verify", receipt, "--key-url", &url, "--allow-http-loopback"]);
    assert_eq!((run.code, run.failure_code()), ended(2, "unreadable"));
}

#[test]
fn a_url_that_is_not_allowed_is_a_usage_error() {
    let receipt = input("allow.json");
    let receipt = receipt.to_str().expect("UTF-8");
    for url in [
        "nonsense",
        "http://127.0.0.1:1/",
        "ftp://localhost/",
        "https://a:b@localhost/",
        "https://localhost/#a",
    ] {
        let run = run(&["verify", receipt, "--key-url", url]);
        assert_eq!((run.code, run.failure_code()), ended(2, "usage"), "{url}");
        assert!(!run.stdout.contains("a:b"), "{run:?}");
    }
}

pub(super) fn served(document: &str) -> String {
    Server::new(response("200 OK\r\nContent-Type: application/json", document.as_bytes())).url
}
