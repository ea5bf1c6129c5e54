//! Getting the key document a receipt is checked against.

use crate::args::KeySourceArgs;
use crate::document::Document;
use crate::exit::Failure;
use crate::input::{MAX_KEYSET_BYTES, Source};
use kaval_receipt::json::JsonString;
use kaval_receipt::{Keyset, Outcome};

/// Whether http may stand in for https where nothing leaves the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loopback {
    /// https only.
    HttpsOnly,
    /// http on `localhost`, `[::1]` and `127.x.x.x` as well.
    HttpAllowed,
}

impl Loopback {
    /// What `--allow-http-loopback` asks for.
    pub(crate) fn from_flag(allow_http_loopback: bool) -> Self {
        if allow_http_loopback { Self::HttpAllowed } else { Self::HttpsOnly }
    }
}

impl KeySourceArgs {
    /// Refuses a key URL where there may be no network, before anything is read.
    ///
    /// # Errors
    ///
    /// `usage`.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match (&self.key_url, self.offline) {
            (Some(_), true) => {
                Err(Failure::usage("--offline forbids --key-url: pin a keyset with `keys fetch`"))
            }
            _ => Ok(()),
        }
    }

    /// Reads or fetches the key document for a key id.
    ///
    /// # Errors
    ///
    /// `unreadable` when it cannot be had, `keys_malformed` when it is not strict JSON or, once fetched, does
    /// not hold the key, `usage` for a URL that is not allowed.
    pub(crate) fn keyset(&self, key_id: &JsonString<'_>) -> Result<Keyset, Failure> {
        match (&self.keyset, &self.key_url) {
            (Some(path), _) => read_keyset(Source::File(path.clone())),
            (None, Some(url)) => fetch_keyset(url, key_id, Loopback::from_flag(self.allow_http_loopback)),
            (None, None) => Err(Failure::usage("give --keyset or --key-url")),
        }
    }
}

/// Reads a key document from a file. One that is strict JSON and cannot be used is kept: which fault it has
/// depends on the id that is wanted.
///
/// # Errors
///
/// `unreadable`, or `keys_malformed` when it is not strict JSON.
pub(crate) fn read_keyset(source: Source) -> Result<Keyset, Failure> {
    let document = Document::open(source, MAX_KEYSET_BYTES)?;
    Ok(Keyset::from_value(&document.parse(Outcome::KeysMalformed)?))
}

#[cfg(feature = "discovery")]
fn fetch_keyset(url: &str, key_id: &JsonString<'_>, loopback: Loopback) -> Result<Keyset, Failure> {
    Ok(crate::discovery::discover(url, key_id, loopback)?.keyset)
}

#[cfg(not(feature = "discovery"))]
fn fetch_keyset(_: &str, _: &JsonString<'_>, _: Loopback) -> Result<Keyset, Failure> {
    Err(Failure::usage(NO_DISCOVERY))
}

/// What a build without network code says to a key URL.
#[cfg(not(feature = "discovery"))]
pub(crate) const NO_DISCOVERY: &str = "this build cannot fetch keys: use --keyset with a pinned key document";
