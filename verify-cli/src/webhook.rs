//! `webhook`: the signature of one delivery. Nothing here prints a secret or a line of the secret file.
//!
//! Source: Kaval API, section 7.4.

use crate::args::WebhookArgs;
use crate::document::Document;
use crate::escape::Escaped;
use crate::exit::{ExitStatus, Failure};
use crate::gates;
use crate::input::Source;
use crate::output::{self, Format, Mark};
use kaval_receipt::json::{self, JsonString, Object, Value};
use kaval_receipt::webhook::{Delivery, Rejected, Secret, Verifier};

/// Largest body, in bytes: far above any event, and small enough to hold.
const MAX_BODY_BYTES: u64 = 8_388_608;
/// Largest file of headers or secrets, in bytes: servers rarely accept header blocks beyond 64 KiB.
const MAX_FILE_BYTES: u64 = 1_048_576;

/// Checks one delivery: 0 valid, 1 rejected.
///
/// # Errors
///
/// `unreadable`, or `usage` when secrets, headers, time or tolerance cannot mean anything.
pub(crate) fn run(args: &WebhookArgs) -> Result<ExitStatus, Failure> {
    let tolerance = tolerance(&args.tolerance)?;
    let now = gates::evaluation_time(args.at.as_deref())?;
    let secrets = read_secrets(&Document::open(Source::File(args.secret_file.clone()), MAX_FILE_BYTES)?)?;
    let headers = read_headers(&Document::open(Source::File(args.headers.clone()), MAX_FILE_BYTES)?)?;
    let source = Source::from_argument(&args.body);
    let body = source.read(MAX_BODY_BYTES).map_err(|error| error.into_failure(&source))?;
    let verifier = Verifier::new(secrets, tolerance).map_err(|misuse| Failure::usage(misuse.to_string()))?;
    let headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    // Milliseconds of the years 0000 to 9999 are far below 2^53, so a double holds them exactly.
    #[allow(clippy::cast_precision_loss, reason = "at most 15 digits")]
    let now_ms = now.instant().nanoseconds() as f64 / 1e6;
    let verdict = verifier.verify(&headers, &body, now_ms);
    print(&verdict, args)?;
    Ok(if verdict.is_ok() { ExitStatus::Accepted } else { ExitStatus::Refuted })
}

fn print(verdict: &Result<Delivery, Rejected>, args: &WebhookArgs) -> Result<(), Failure> {
    let (format, layout) = args.rendering.resolved();
    let palette = output::palette();
    if format == Format::Text {
        return output::print(&match verdict {
            Ok(delivery) => format!(
                "{}\n\n  event      {}\n  key id     {}\n  timestamp  {}\n",
                palette.paint(Mark::Pass, "VALID"),
                Escaped::new(&delivery.webhook_id),
                Escaped::new(&delivery.key_id),
                Escaped::new(&delivery.timestamp)
            ),
            Err(rejected) => format!(
                "{}: {}\n{}\n",
                palette.paint(Mark::Fail, "REJECTED"),
                rejected.reason.code(),
                Escaped::new(&rejected.message)
            ),
        });
    }
    let mut root = Object::new();
    root.insert("contract_version", "1");
    root.insert("valid", verdict.is_ok());
    match verdict {
        Ok(delivery) => {
            root.insert("code", "valid");
            root.insert("exit_code", 0.0);
            root.insert("key_id", delivery.key_id.as_str());
            root.insert("webhook_id", delivery.webhook_id.as_str());
            root.insert("timestamp", delivery.timestamp.as_str());
        }
        Err(rejected) => {
            root.insert("code", rejected.reason.code());
            root.insert("exit_code", 1.0);
            root.insert("message", rejected.message.as_str());
        }
    }
    output::print_json(&root.into(), layout)
}

fn tolerance(text: &str) -> Result<Option<f64>, Failure> {
    if text == "none" {
        return Ok(None);
    }
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds = text.parse::<f64>().ok().filter(|seconds| is_plain && seconds.is_finite());
    seconds.map(Some).ok_or_else(|| Failure::usage("--tolerance takes a number of seconds, or none"))
}

/// The text of a configuring file, the byte order mark that some editors put before it left out. None when it
/// holds NUL bytes, as UTF-16 does: then every name would be misread, and a sound delivery rejected.
fn plain_text(document: &Document) -> Option<&str> {
    let text = document.text();
    Some(text.strip_prefix('\u{feff}').unwrap_or(text)).filter(|text| !text.contains('\0'))
}

/// Secrets from a JSON object or from lines. Messages name lines by number alone: a line holds a secret.
fn read_secrets(document: &Document) -> Result<Vec<Secret>, Failure> {
    let misused = |message: &str| Failure::usage(format!("--secret-file: {message}"));
    let text = plain_text(document).ok_or_else(|| misused("not UTF-8 text"))?;
    let mut pairs = Vec::new();
    if text.trim_start().starts_with('{') {
        // The reader's message can repeat a key, so only the place is told.
        let value = json::parse(text)
            .map_err(|error| misused(&format!("not strict JSON ({} at {})", error.code(), error.offset)))?;
        // What the API answers on subscription can be kept as it is.
        let value = value.get("webhook_verification").unwrap_or(&value);
        if let (Some(Value::String(key_id)), Some(Value::String(secret))) =
            (value.get("key_id"), value.get("secret"))
        {
            pairs.push((key_id.to_display_string(), secret.to_display_string()));
        } else {
            for (key_id, secret) in value.as_object().into_iter().flat_map(Object::iter) {
                let secret = secret.as_string().ok_or_else(|| misused("a secret is not a string"))?;
                pairs.push((key_id.to_display_string(), secret.to_display_string()));
            }
        }
    } else {
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let pair = line
                .split_once([':', '='])
                .ok_or_else(|| misused(&format!("line {number} is neither keyid:secret nor keyid=secret")))?;
            pairs.push((pair.0.trim().to_owned(), pair.1.trim().to_owned()));
        }
    }
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"-_+/=".contains(&byte);
    for (number, (key_id, secret)) in (1..).zip(&pairs) {
        if key_id.is_empty() || secret.is_empty() || !secret.bytes().all(is_base64) {
            return Err(misused(&format!("entry {number} is not a key id with a base64url secret")));
        }
    }
    Ok(pairs.into_iter().map(|(key_id, secret)| Secret::new(key_id, &secret)).collect())
}

/// Headers from a JSON object or array, or from lines `Name: value`.
fn read_headers(document: &Document) -> Result<Vec<(String, String)>, Failure> {
    let misused = |message: &str| Failure::usage(format!("--headers: {message}"));
    let text = plain_text(document).ok_or_else(|| misused("not UTF-8 text"))?;
    if !text.trim_start().starts_with(['{', '[']) {
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        return lines
            .map(|(number, line)| {
                let (name, value) = line
                    .split_once(':')
                    .ok_or_else(|| misused(&format!("line {number} is not `Name: value`")))?;
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            })
            .collect();
    }
    let value = json::parse(text).map_err(|error| misused(&format!("not strict JSON: {error}")))?;
    let form = || misused("give an object from name to value, or an array of [name, value] pairs");
    let shown = |text: &JsonString<'_>| text.to_display_string();
    let mut headers = Vec::new();
    match &value {
        Value::Object(object) => {
            for (name, value) in object.iter() {
                match value {
                    Value::String(value) => headers.push((shown(name), shown(value))),
                    Value::Array(values) => {
                        for value in values {
                            headers.push((shown(name), shown(value.as_string().ok_or_else(form)?)));
                        }
                    }
                    _ => return Err(form()),
                }
            }
        }
        Value::Array(pairs) => {
            for pair in pairs {
                let (name, value) = match pair {
                    Value::Array(pair) => (pair.first(), pair.get(1).filter(|_| pair.len() == 2)),
                    pair => (pair.get("name"), pair.get("value")),
                };
                let text = |value: Option<&Value<'_>>| value.and_then(Value::as_string).map(shown);
                headers.push((text(name).ok_or_else(form)?, text(value).ok_or_else(form)?));
            }
        }
        _ => return Err(form()),
    }
    Ok(headers)
}
