//! Scripting from outside the process, for the SDK drivers.
//!
//! `POST /_control` with `{"replies":[{"path","status","body","headers","delay_ms","fault","after"}]}`
//! queues replies: the first whose path prefix fits a request is used up by it. `GET /_control` gives the
//! requests received since the last `DELETE /_control`, which also empties the queue, and how many
//! answers their callers abandoned.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Api, Fault, Handler, Reply, Request, default_reply, lock};

#[derive(Deserialize)]
struct Script {
    replies: Vec<Queued>,
}

#[derive(Deserialize)]
struct Queued {
    path: String,
    #[serde(default = "ok_status")]
    status: u16,
    /// Absent: the everyday answer of the route.
    body: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    fault: String,
    #[serde(default)]
    after: usize,
}

fn ok_status() -> u16 {
    200
}

#[derive(Default)]
struct Desk {
    queue: Vec<Queued>,
    seen: Vec<Value>,
    aborted_before: usize,
}

/// A handler that answers as queued over `/_control`, and the cell that must be given the running server.
#[must_use]
pub fn controlled() -> (Handler, Arc<OnceLock<Api>>) {
    let desk = Mutex::new(Desk::default());
    let api: Arc<OnceLock<Api>> = Arc::default();
    let running = Arc::clone(&api);
    let handler: Handler = Arc::new(move |request| {
        let aborted = running.get().map_or(0, |api| api.aborted().len());
        let mut desk = lock(&desk);
        if request.path() == "/_control" {
            return control(&mut desk, request, aborted);
        }
        desk.seen.push(describe(request));
        let Some(at) = desk.queue.iter().position(|queued| request.path().starts_with(&queued.path)) else {
            return default_reply(request);
        };
        reply(desk.queue.remove(at), request)
    });
    (handler, api)
}

fn control(desk: &mut Desk, request: &Request, aborted: usize) -> Reply {
    match request.method.as_str() {
        "GET" => {
            let body = json!({"requests": desk.seen, "aborted": aborted - desk.aborted_before});
            Reply::new(200, body.to_string())
        }
        "DELETE" => {
            *desk = Desk { aborted_before: aborted, ..Desk::default() };
            Reply::new(200, "{}")
        }
        _ => match serde_json::from_slice::<Script>(&request.body) {
            Ok(script) => {
                desk.queue.extend(script.replies);
                Reply::new(200, "{}")
            }
            Err(error) => Reply::error(400, "bad_script", &error.to_string()),
        },
    }
}

fn describe(request: &Request) -> Value {
    let headers: BTreeMap<_, _> = request.headers.iter().cloned().collect();
    json!({
        "method": request.method,
        "target": request.target,
        "headers": headers,
        "body": String::from_utf8_lossy(&request.body),
    })
}

fn reply(queued: Queued, request: &Request) -> Reply {
    let mut reply = match queued.body {
        Some(body) => Reply::new(queued.status, body),
        None => default_reply(request),
    };
    reply.headers.extend(queued.headers);
    reply.delay = Duration::from_millis(queued.delay_ms);
    reply.fault = match queued.fault.as_str() {
        "close" => Fault::Close,
        "cut" => Fault::Cut { after: queued.after },
        "hang" => Fault::Hang,
        "reset" => Fault::Reset,
        "stall" => Fault::Stall { after: queued.after },
        _ => Fault::None,
    };
    reply
}
