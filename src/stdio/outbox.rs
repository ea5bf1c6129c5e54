//! Open requests and the bytes on their way to the client.
//!
//! One lock holds both, so that a cancelled request can never get a reply: whoever takes a request out of
//! the table is the only one who may write for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::ErrorData;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;

/// Reading stops, and no call goes to the API, while more bytes than this wait for a client that does not
/// read its end. Calls that are with the API already may add their answers.
///
/// Generous, because simple drivers write all their requests before they read the first reply; finite,
/// because a client that never reads must not fill the memory.
const HIGH_WATER_BYTES: usize = 64 * 1024 * 1024;

/// Buffers that grew past this are given back after the write.
const KEPT_BUFFER_BYTES: usize = 256 * 1024;

/// What a finished request is answered with.
pub(crate) enum Reply<'a> {
    Error(&'a ErrorData),
    /// A complete JSON value for the `result` member.
    Result(&'a [u8]),
}

/// A request that was read and not yet answered.
struct Open {
    /// The id exactly as the client spelled it.
    id: Arc<str>,
    batch: Option<u64>,
}

#[derive(Default)]
struct Batch {
    replies: Vec<u8>,
    waiting: usize,
    /// Set once every message of the batch has been looked at.
    complete: bool,
}

#[derive(Default)]
struct State {
    open: HashMap<u64, Open>,
    keys: HashMap<Arc<str>, u64>,
    batches: HashMap<u64, Batch>,
    next_key: u64,
    out: Vec<u8>,
    /// Bytes the writer has taken out of `out` and the client has not taken yet.
    writing: usize,
    closing: bool,
    broken: bool,
}

/// Shared by the reader, the writer and every running request.
#[derive(Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    /// Bytes to write, or the end of the session.
    work: Notify,
    /// The writer has taken bytes, or given up.
    taken: Notify,
    /// The last open request is gone.
    idle: Notify,
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox").finish_non_exhaustive()
    }
}

impl Outbox {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request under its id as spelled; `None` if that id is in use.
    pub(crate) fn open(&self, id: &str, batch: Option<u64>) -> Option<u64> {
        let mut state = self.state();
        if state.keys.contains_key(id) {
            return None;
        }
        let key = state.next_key;
        state.next_key += 1;
        let id: Arc<str> = id.into();
        state.keys.insert(Arc::clone(&id), key);
        state.open.insert(key, Open { id, batch });
        if let Some(batch) = batch.and_then(|number| state.batches.get_mut(&number)) {
            batch.waiting += 1;
        }
        Some(key)
    }

    /// Forgets a request the client has cancelled; its internal key if it was open.
    pub(crate) fn cancel(&self, id: &str) -> Option<u64> {
        let mut state = self.state();
        let key = *state.keys.get(id)?;
        let open = state.close(key)?;
        state.settle(open.batch, None);
        self.after_close(state);
        Some(key)
    }

    /// Forgets every open request; nothing is written for them any more.
    pub(crate) fn abandon(&self) {
        let mut state = self.state();
        state.open.clear();
        state.keys.clear();
        state.batches.clear();
        self.after_close(state);
    }

    /// Answers a request, unless it was answered or cancelled before.
    pub(crate) fn finish(&self, key: u64, reply: &Reply<'_>) {
        let mut state = self.state();
        let Some(open) = state.close(key) else { return };
        match open.batch {
            None => {
                frame(&mut state.out, Some(&open.id), reply);
                state.out.push(b'\n');
            }
            Some(_) => {
                let mut bytes = Vec::new();
                frame(&mut bytes, Some(&open.id), reply);
                state.settle(open.batch, Some(&bytes));
            }
        }
        self.after_close(state);
    }

    /// Writes a notification that belongs to an open request.
    pub(crate) fn notify(&self, key: u64, notification: &[u8]) {
        let mut state = self.state();
        if state.open.contains_key(&key) {
            state.out.extend_from_slice(notification);
            state.out.push(b'\n');
            drop(state);
            self.work.notify_one();
        }
    }

    /// Answers something that never became a request.
    pub(crate) fn refuse(&self, id: Option<&str>, batch: Option<u64>, error: &ErrorData) {
        let mut state = self.state();
        match batch.and_then(|number| state.batches.get_mut(&number)) {
            Some(batch) => {
                batch.separate();
                frame(&mut batch.replies, id, &Reply::Error(error));
            }
            None => {
                frame(&mut state.out, id, &Reply::Error(error));
                state.out.push(b'\n');
            }
        }
        drop(state);
        self.work.notify_one();
    }

    /// Writes a message that belongs to no request.
    pub(crate) fn push(&self, message: &[u8]) {
        let mut state = self.state();
        state.out.extend_from_slice(message);
        state.out.push(b'\n');
        drop(state);
        self.work.notify_one();
    }

    pub(crate) fn begin_batch(&self) -> u64 {
        let mut state = self.state();
        let number = state.next_key;
        state.next_key += 1;
        state.batches.insert(number, Batch::default());
        number
    }

    /// Says that every message of the batch has been looked at.
    pub(crate) fn end_batch(&self, number: u64) {
        let mut state = self.state();
        if let Some(batch) = state.batches.get_mut(&number) {
            batch.complete = true;
        }
        state.flush_batch(number);
        drop(state);
        self.work.notify_one();
    }

    /// Waits until the client has taken enough for more to be read from it, or to be fetched for it.
    pub(crate) async fn has_room(&self) {
        loop {
            let taken = self.taken.notified();
            {
                let state = self.state();
                if state.out.len().saturating_add(state.writing) <= HIGH_WATER_BYTES || state.broken {
                    return;
                }
            }
            taken.await;
        }
    }

    /// Waits until no request is open.
    pub(crate) async fn is_idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.state().open.is_empty() {
                return;
            }
            idle.await;
        }
    }

    /// Lets the writer end once everything queued is out.
    pub(crate) fn close(&self) {
        self.state().closing = true;
        self.work.notify_one();
    }

    /// Writes what is queued until [`Outbox::close`] or a write error.
    ///
    /// # Errors
    ///
    /// The client is gone, or the stream failed otherwise.
    pub(crate) async fn write_to<W: AsyncWrite + Unpin>(&self, mut writer: W) -> std::io::Result<()> {
        let mut spare = Vec::new();
        loop {
            let closing = {
                let mut state = self.state();
                std::mem::swap(&mut state.out, &mut spare);
                state.writing = spare.len();
                state.closing
            };
            if spare.is_empty() {
                if closing {
                    return Ok(());
                }
                self.work.notified().await;
                continue;
            }
            let written = write_all(&mut writer, &spare).await;
            spare.clear();
            if spare.capacity() > KEPT_BUFFER_BYTES {
                spare = Vec::new();
            }
            {
                let mut state = self.state();
                state.writing = 0;
                if written.is_err() {
                    state.broken = true;
                    state.out = Vec::new();
                }
            }
            self.taken.notify_waiters();
            written?;
        }
    }

    fn after_close(&self, state: MutexGuard<'_, State>) {
        let idle = state.open.is_empty();
        drop(state);
        self.work.notify_one();
        if idle {
            self.idle.notify_waiters();
        }
    }
}

impl State {
    fn close(&mut self, key: u64) -> Option<Open> {
        let open = self.open.remove(&key)?;
        self.keys.remove(&open.id);
        Some(open)
    }

    /// Takes one request off its batch, with its reply if it gets one.
    fn settle(&mut self, batch: Option<u64>, reply: Option<&[u8]>) {
        let Some(number) = batch else { return };
        if let Some(batch) = self.batches.get_mut(&number) {
            batch.waiting = batch.waiting.saturating_sub(1);
            if let Some(reply) = reply {
                batch.separate();
                batch.replies.extend_from_slice(reply);
            }
        }
        self.flush_batch(number);
    }

    fn flush_batch(&mut self, number: u64) {
        if self.batches.get(&number).is_none_or(|batch| !batch.complete || batch.waiting > 0) {
            return;
        }
        // A batch of notifications, or one whose requests were all cancelled, is not answered.
        if let Some(batch) = self.batches.remove(&number).filter(|batch| !batch.replies.is_empty()) {
            self.out.push(b'[');
            self.out.extend_from_slice(&batch.replies);
            self.out.extend_from_slice(b"]\n");
        }
    }
}

impl Batch {
    fn separate(&mut self) {
        if !self.replies.is_empty() {
            self.replies.push(b',');
        }
    }
}

async fn write_all<W: AsyncWrite + Unpin>(writer: &mut W, bytes: &[u8]) -> std::io::Result<()> {
    writer.write_all(bytes).await?;
    writer.flush().await
}

/// Appends a JSON-RPC response. MCP leaves `id` out where it could not be read.
fn frame(out: &mut Vec<u8>, id: Option<&str>, reply: &Reply<'_>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    if let Some(id) = id {
        out.extend_from_slice(br#","id":"#);
        out.extend_from_slice(id.as_bytes());
    }
    match reply {
        Reply::Error(error) => {
            out.extend_from_slice(br#","error":"#);
            let start = out.len();
            if serde_json::to_writer(&mut *out, error).is_err() {
                out.truncate(start);
                out.extend_from_slice(br#"{"code":-32603,"message":"internal error"}"#);
            }
        }
        Reply::Result(result) => {
            out.extend_from_slice(br#","result":"#);
            out.extend_from_slice(result);
        }
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(outbox: &Outbox) -> String {
        String::from_utf8(std::mem::take(&mut outbox.state().out)).unwrap()
    }

    #[test]
    fn echoes_the_id_as_spelled_and_answers_once() {
        let outbox = Outbox::default();
        let key = outbox.open("\"a\\u0062\"", None).unwrap();
        outbox.finish(key, &Reply::Result(b"{}"));
        outbox.finish(key, &Reply::Result(b"{}"));
        assert_eq!(written(&outbox), "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0062\",\"result\":{}}\n");
    }

    #[test]
    fn a_cancelled_request_gets_nothing_more() {
        let outbox = Outbox::default();
        let key = outbox.open("1", None).unwrap();
        assert_eq!(outbox.cancel("1"), Some(key));
        assert_eq!(outbox.cancel("1"), None);
        outbox.notify(key, b"{}");
        outbox.finish(key, &Reply::Result(b"{}"));
        assert_eq!(written(&outbox), "");
    }

    #[test]
    fn an_id_in_use_is_refused_until_it_is_answered() {
        let outbox = Outbox::default();
        let first = outbox.open("1", None).unwrap();
        assert_eq!(outbox.open("1", None), None);
        outbox.finish(first, &Reply::Result(b"1"));
        assert!(outbox.open("1", None).is_some());
    }

    #[test]
    fn a_batch_is_answered_as_one_array_when_its_last_request_is_done() {
        let outbox = Outbox::default();
        let batch = outbox.begin_batch();
        let one = outbox.open("1", Some(batch)).unwrap();
        let two = outbox.open("2", Some(batch)).unwrap();
        outbox.finish(one, &Reply::Result(b"1"));
        outbox.end_batch(batch);
        assert_eq!(written(&outbox), "");
        outbox.finish(two, &Reply::Result(b"2"));
        let want = r#"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"result":2}]"#;
        assert_eq!(written(&outbox).trim_end(), want);

        let batch = outbox.begin_batch();
        outbox.open("3", Some(batch)).unwrap();
        outbox.end_batch(batch);
        outbox.cancel("3");
        assert_eq!(written(&outbox), "", "a batch without any reply is not answered");
    }

    #[tokio::test]
    async fn reading_waits_while_the_client_takes_nothing() {
        let outbox = Outbox::default();
        let wait = std::time::Duration::from_millis(20);
        assert!(tokio::time::timeout(wait, outbox.has_room()).await.is_ok());
        outbox.state().out = vec![b' '; HIGH_WATER_BYTES + 1];
        assert!(tokio::time::timeout(wait, outbox.has_room()).await.is_err());
        outbox.close();
        let (room, written) = tokio::join!(outbox.has_room(), outbox.write_to(tokio::io::sink()));
        assert_eq!((room, written.is_ok()), ((), true));
    }
}
