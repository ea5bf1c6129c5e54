//! `keys inspect` and `keys fetch`.

use crate::args::{FetchArgs, InspectArgs};
use crate::document::Document;
use crate::escape::Escaped;
use crate::exit::{ExitStatus, Failure};
use crate::input::{MAX_KEYSET_BYTES, Source};
use crate::output::{self, Format, Mark};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kaval_receipt::json::{Object, Value};
use kaval_receipt::keyset::{Key, KeysetError};
use kaval_receipt::{Keyset, Outcome};
use std::fmt::Write as _;

/// Lists the keys of a document. Ends with 2 when a key of it could not be used.
///
/// # Errors
///
/// `unreadable`, or `keys_malformed` when the document is not strict JSON.
pub(crate) fn inspect(args: &InspectArgs) -> Result<ExitStatus, Failure> {
    let document = Document::open(Source::File(args.file.clone()), MAX_KEYSET_BYTES)?;
    let keyset = Keyset::from_value(&document.parse(Outcome::KeysMalformed)?);
    let is_usable = keyset.fault().is_none() && keyset.keys().iter().all(|key| !is_duplicate(&keyset, key));
    let (format, layout) = args.rendering.resolved();
    match format {
        Format::Json => output::print_json(&to_value(&keyset, is_usable), layout)?,
        Format::Text => output::print(&to_text(&keyset, is_usable))?,
    }
    Ok(if is_usable { ExitStatus::Accepted } else { Outcome::KeysMalformed.into() })
}

fn is_duplicate(keyset: &Keyset, key: &Key) -> bool {
    matches!(keyset.lookup(&key.key_id), Err(KeysetError::DuplicateKeyId(_)))
}

fn status(key: &Key) -> &'static str {
    key.lifecycle.as_ref().map_or("unknown", |lifecycle| lifecycle.status.as_str())
}

fn to_value(keyset: &Keyset, is_usable: bool) -> Value<'_> {
    let mut root = Object::new();
    root.insert("contract_version", "1");
    root.insert("usable", is_usable);
    if let Some(fault) = keyset.fault() {
        let mut member = Object::new();
        member.insert("code", fault.code());
        member.insert("message", Value::String(fault.to_string().into()));
        root.insert("fault", member);
    }
    let keys = keyset.keys().iter().map(|key| {
        let mut member = Object::new();
        member.insert("key_id", Value::String(key.key_id.borrowed()));
        member.insert("lifecycle_status", status(key));
        if let Some(form) = &key.canonicalization {
            // Thousands of keys can inherit one form of half a megabyte, and each repeats it here.
            member.insert("canonicalization", Value::String(form.excerpt().into()));
        }
        member.insert("trusted", key.is_trusted());
        member.insert("reason", Value::String(key.trust_reason().into_owned().into()));
        member.insert("code", key.trust_code());
        if let Some(time) = key.lifecycle.as_ref().and_then(|lifecycle| lifecycle.status_changed_at.as_ref())
        {
            member.insert("status_changed_at", Value::String(time.borrowed()));
        }
        member.insert("x", Value::String(x(key).into()));
        member.insert("duplicate", is_duplicate(keyset, key));
        Value::from(member)
    });
    let keys: Vec<_> = keys.collect();
    root.insert("keys", keys);
    root.into()
}

fn x(key: &Key) -> String {
    URL_SAFE_NO_PAD.encode(key.public_key.as_bytes())
}

fn to_text(keyset: &Keyset, is_usable: bool) -> String {
    let palette = output::palette();
    let mut text = String::new();
    let (mark, verdict) = if is_usable { (Mark::Pass, "USABLE") } else { (Mark::Fail, "NOT USABLE") };
    let _ = write!(text, "{}: {}", palette.paint(mark, verdict), counted(keyset.keys().len()));
    if let Some(fault) = keyset.fault() {
        let _ = write!(text, ", then a fault: {}", Escaped::new(&fault.to_string()));
    }
    text.push_str("\n\n");
    for key in keyset.keys() {
        let is_duplicate = is_duplicate(keyset, key);
        let is_good = key.is_trusted() && !is_duplicate && keyset.fault().is_none();
        let mark = palette.mark(if is_good { Mark::Pass } else { Mark::Fail });
        let trust = if key.is_trusted() { "trusted" } else { "not trusted" };
        let _ = writeln!(text, "{mark} {}", Escaped::new(&key.key_id.to_display_string()));
        let _ = writeln!(text, "    {}, {trust}: {}", status(key), Escaped::new(&key.trust_reason()));
        if let Some(time) = key.lifecycle.as_ref().and_then(|lifecycle| lifecycle.status_changed_at.as_ref())
        {
            let _ = writeln!(text, "    since {}", Escaped::new(&time.to_display_string()));
        }
        let _ = writeln!(text, "    public key {}", x(key));
        if is_duplicate {
            text.push_str("    the id stands in the document more than once, so it cannot be used\n");
        }
    }
    text
}

fn counted(keys: usize) -> String {
    format!("{keys} {}", if keys == 1 { "key" } else { "keys" })
}

#[cfg(not(feature = "discovery"))]
pub(crate) fn fetch(_: &FetchArgs) -> Result<ExitStatus, Failure> {
    Err(Failure::usage(crate::key_source::NO_DISCOVERY))
}

/// Fetches a key document and pins it in a file.
///
/// # Errors
///
/// Those of discovery; `key_changed` when a key that is pinned already has other public bytes now;
/// `keys_malformed` when the file is there and no key document; `unwritable`.
#[cfg(feature = "discovery")]
pub(crate) fn fetch(args: &FetchArgs) -> Result<ExitStatus, Failure> {
    use crate::key_source::Loopback;
    use kaval_receipt::json::JsonString;
    use kaval_receipt::keyset::MAX_KEY_ID_LEN;

    let kid = JsonString::from(args.kid.as_str());
    if kid.is_blank() || kid.utf16_len() > MAX_KEY_ID_LEN {
        return Err(Failure::usage(format!("--kid takes a key id of 1 to {MAX_KEY_ID_LEN} characters")));
    }
    let pinned = pin::read_pinned(&args.output)?;
    let discovered =
        crate::discovery::discover(&args.key_url, &kid, Loopback::from_flag(args.allow_http_loopback))?;
    let dropped = match &pinned {
        Some(pinned) => pin::check_unchanged(pinned, &discovered.keyset)?,
        None => Vec::new(),
    };
    pin::replace(&args.output, discovered.text.as_bytes())?;
    let (format, layout) = args.rendering.resolved();
    let count = counted(discovered.keyset.keys().len());
    if format == Format::Text {
        let output = args.output.to_string_lossy();
        output::print(&format!("pinned {count} in {}\n", Escaped::new(&output)))?;
    } else {
        let mut value = to_value(&discovered.keyset, true);
        if let Value::Object(root) = &mut value {
            root.insert("output", Value::String(args.output.to_string_lossy().into_owned().into()));
        }
        output::print_json(&value, layout)?;
    }
    if !dropped.is_empty() {
        let message = format!("no longer in the document: {}", dropped.join(", "));
        output::advise(&Escaped::new(&message));
    }
    Ok(ExitStatus::Accepted)
}

#[cfg(feature = "discovery")]
mod pin {
    use super::*;
    use crate::exit::FailureCode;
    use crate::input::InputError;
    use std::fs::{self, File, OpenOptions};
    use std::io::{self, Write as _};
    use std::path::{Path, PathBuf};

    /// The key document that is pinned already, if there is one.
    pub(super) fn read_pinned(path: &Path) -> Result<Option<Keyset>, Failure> {
        let source = Source::File(path.to_owned());
        let document = match Document::read(source.clone(), MAX_KEYSET_BYTES) {
            Ok(document) => document,
            Err(InputError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into_failure(&source)),
        };
        let keyset = Keyset::from_value(&document.parse(Outcome::KeysMalformed)?);
        match keyset.fault() {
            None => Ok(Some(keyset)),
            Some(fault) => Err(Failure::outcome(
                Outcome::KeysMalformed,
                format!("{source} is there and no usable key document, so it is left alone: {fault}"),
            )),
        }
    }

    /// The pinned ids that are gone, once it is certain that none has other public bytes.
    pub(super) fn check_unchanged(pinned: &Keyset, fetched: &Keyset) -> Result<Vec<String>, Failure> {
        let mut dropped = Vec::new();
        for old in pinned.keys() {
            let mut same_id = fetched.keys().iter().filter(|new| new.key_id == old.key_id).peekable();
            if same_id.peek().is_none() {
                dropped.push(old.key_id.to_display_string());
            }
            if same_id.any(|new| new.public_key.as_bytes() != old.public_key.as_bytes()) {
                return Err(Failure {
                    code: FailureCode::KeyChanged,
                    message: format!(
                        "the key {} has other public bytes than the pinned one, so nothing was written: ask \
                         its owner before you remove the pinned file",
                        old.key_id
                    ),
                });
            }
        }
        Ok(dropped)
    }

    /// Puts bytes in place of a file at once, so that nobody ever sees a part of them.
    pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let failed = |error: io::Error| {
            Failure::unwritable(format!("{} cannot be written: {error}", Source::File(path.to_owned())))
        };
        // A link keeps pointing where it points: what reads the file under its own name sees the new keys too.
        let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let temporary = temporary_path(path)
            .ok_or_else(|| failed(io::Error::new(io::ErrorKind::InvalidInput, "it names no file")))?;
        let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary).map_err(failed)?;
        let written = write_synced(&mut file, bytes).and_then(|()| fs::rename(&temporary, path));
        written.map_err(|error| {
            let _ = fs::remove_file(&temporary);
            failed(error)
        })
    }

    fn write_synced(file: &mut File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// A name beside the file, so that renaming does not leave its file system.
    fn temporary_path(path: &Path) -> Option<PathBuf> {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name()?);
        name.push(format!(".{}.tmp", std::process::id()));
        Some(path.with_file_name(name))
    }
}
