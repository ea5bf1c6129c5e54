//! One running call: its deadline, its turn, and its way to the API.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::HeaderValue;
use kaval_client::{Answer, CallError, Client, Request};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::{Code, Failure};
use crate::toolset::Budgets;
use crate::wire::Wire;

/// Calls that may be with the API at once. Agents run a handful; the rest of the room is for batch work,
/// and the API's own limits are per key.
const MAX_RUNNING: usize = 64;

/// Calls that may wait for their turn. Each holds its arguments in memory.
const MAX_WAITING: usize = 1024;

/// Lets calls through in their order, a bounded number at a time.
#[derive(Debug)]
pub(crate) struct Gate {
    running: Semaphore,
    waiting: AtomicUsize,
    max_waiting: usize,
}

impl Default for Gate {
    fn default() -> Self {
        Self::new(MAX_RUNNING, MAX_WAITING)
    }
}

/// Why a call did not get its turn.
#[derive(Debug, PartialEq, Eq)]
enum Turned {
    Full,
    TooLate,
}

impl Gate {
    fn new(running: usize, max_waiting: usize) -> Self {
        Self { running: Semaphore::new(running), waiting: AtomicUsize::new(0), max_waiting }
    }

    async fn enter(&self, within: Duration) -> Result<SemaphorePermit<'_>, Turned> {
        if let Ok(permit) = self.running.try_acquire() {
            return Ok(permit);
        }
        let _place = self.place().ok_or(Turned::Full)?;
        match tokio::time::timeout(within, self.running.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            // The semaphore is never closed, so this is the timeout.
            _ => Err(Turned::TooLate),
        }
    }

    fn place(&self) -> Option<Place<'_>> {
        self.waiting
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
                (count < self.max_waiting).then_some(count + 1)
            })
            .ok()
            .map(|_| Place(&self.waiting))
    }
}

/// A place in the queue; given up when dropped, so that cancelled calls leave it too.
struct Place<'g>(&'g AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What a toolset gets to run one call with.
#[derive(Debug)]
pub struct CallContext<'a> {
    client: &'a Client,
    gate: &'a Gate,
    budgets: Budgets,
    started: Instant,
    traceparent: Option<HeaderValue>,
    /// Where the answer goes, if the transport is the line transport.
    wire: Option<&'a Wire>,
}

impl<'a> CallContext<'a> {
    pub(crate) fn new(
        client: &'a Client,
        gate: &'a Gate,
        budgets: Budgets,
        traceparent: Option<&str>,
        wire: Option<&'a Wire>,
    ) -> Self {
        let traceparent = traceparent.filter(|text| is_traceparent(text));
        Self {
            client,
            gate,
            budgets,
            started: Instant::now(),
            traceparent: traceparent.and_then(|text| HeaderValue::from_str(text).ok()),
            wire,
        }
    }

    /// The limits calls run under.
    #[must_use]
    pub fn budgets(&self) -> Budgets {
        self.budgets
    }

    /// Since when the call runs.
    #[must_use]
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Makes one call of the API within what is left of the call's deadline, when it is its turn.
    ///
    /// # Errors
    ///
    /// The failure as the agent reads it.
    pub async fn call(&self, request: Request) -> Result<Answer, Box<Failure>> {
        let key = request.idempotency_key.clone();
        let turned = match self.gate.enter(self.left()).await {
            Ok(_permit) => {
                self.room().await;
                let left = self.left();
                if left.is_zero() {
                    Turned::TooLate
                } else {
                    let request = request.deadline(left).traceparent(self.traceparent.clone());
                    return self.client.call(request).await.map_err(|error| Box::new(self.failure(error)));
                }
            }
            Err(turned) => turned,
        };
        let key = key.map(|key| key.as_str().to_owned());
        Err(Box::new(match (turned, key) {
            (Turned::Full, key) => {
                let failure = Failure::new(
                    Code::Overloaded,
                    "too many calls are waiting for the API already; nothing was sent: retry later with fewer at once",
                );
                match key {
                    Some(key) => failure.with_idempotency_key(key),
                    None => failure,
                }
            }
            (Turned::TooLate, Some(key)) => Failure::ambiguous(key),
            (Turned::TooLate, None) => self.failure(CallError::Timeout { deadline: self.budgets.deadline }),
        }))
    }

    /// Waits for a client that does not read: answers must not pile up in memory. The deadline ends it.
    async fn room(&self) {
        if let Some(wire) = self.wire {
            let _ = tokio::time::timeout(self.left(), wire.has_room()).await;
        }
    }

    fn failure(&self, error: CallError) -> Failure {
        match error {
            // What was left after waiting is no number the caller knows.
            CallError::Timeout { .. } => CallError::Timeout { deadline: self.budgets.deadline }.into(),
            other => other.into(),
        }
    }

    fn left(&self) -> Duration {
        self.budgets.deadline.saturating_sub(self.started.elapsed())
    }
}

/// Whether a text is a W3C trace parent: version, trace id, span id and flags in lower-case hexadecimal.
///
/// Source: W3C Trace Context, section 3.2.
fn is_traceparent(text: &str) -> bool {
    let hex = |part: &str, length: usize| {
        part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let parts: Vec<&str> = text.split('-').collect();
    matches!(parts.as_slice(), [version, trace, span, flags]
        if hex(version, 2) && *version != "ff" && hex(trace, 32) && hex(span, 16) && hex(flags, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn calls_beyond_both_limits_are_turned_away() {
        let gate = Gate::new(1, 1);
        let running = gate.enter(Duration::ZERO).await.unwrap();
        let waiting = gate.enter(Duration::from_secs(60));
        tokio::pin!(waiting);
        assert!(futures_pending(waiting.as_mut()).await);
        assert_eq!(gate.enter(Duration::from_secs(60)).await.unwrap_err(), Turned::Full);
        drop(running);
        assert!(waiting.await.is_ok());
    }

    #[tokio::test]
    async fn waiting_ends_with_the_deadline_and_frees_the_place() {
        let gate = Gate::new(1, 1);
        let _running = gate.enter(Duration::ZERO).await.unwrap();
        for _ in 0..3 {
            assert_eq!(gate.enter(Duration::from_millis(1)).await.unwrap_err(), Turned::TooLate);
        }
    }

    async fn futures_pending<F: Future>(future: std::pin::Pin<&mut F>) -> bool {
        tokio::time::timeout(Duration::from_millis(20), future).await.is_err()
    }

    #[test]
    fn only_trace_parents_are_forwarded() {
        assert!(is_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
        for text in ["", "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-1-2-3", "a\r\nb: c"] {
            assert!(!is_traceparent(text), "{text:?}");
        }
    }
}
