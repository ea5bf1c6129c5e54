//! What a client is told at start.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base_url::{BaseUrl, BaseUrlFault, DEFAULT_BASE_URL, PlainHttp};
use crate::key::{ApiKey, KeyFault, is_placeholder, unwrap_value};
use crate::proxy::{Proxy, ProxyFault, is_exempt};

/// Deadline of a call when none is configured: below the 60 s after which MCP clients commonly give up.
///
/// Source: MCP tool contract, section A3.
pub const DEFAULT_DEADLINE: Duration = Duration::from_millis(55_000);

/// Shortest deadline that can be configured.
pub const MIN_DEADLINE: Duration = Duration::from_millis(1_000);

/// Longest deadline that can be configured: one hour.
pub const MAX_DEADLINE: Duration = Duration::from_millis(3_600_000);

/// How much the check budget stays below the deadline, so that the answer still travels in time.
const BUDGET_MARGIN: Duration = Duration::from_millis(10_000);

/// Largest research budget the API takes.
///
/// Source: HTTP API, section 14.
const MAX_CHECK_BUDGET: Duration = Duration::from_millis(100_000);

/// Largest key file read, in bytes: a key is at most [`ApiKey::MAX_BYTES`], the rest is room for white space.
const MAX_KEY_FILE_BYTES: u64 = 64 * 1024;

/// Settings of a [`crate::Client`].
#[derive(Clone, Debug)]
pub struct Config {
    /// The key; without one, calls that need it fail with [`crate::CallError::MissingKey`].
    pub api_key: Option<ApiKey>,
    /// Where requests go.
    pub base_url: BaseUrl,
    /// The proxy for `base_url`, exemptions already applied.
    pub proxy: Option<Proxy>,
    /// PEM file of certificates trusted beside the platform's.
    pub ca_file: Option<PathBuf>,
    /// Deadline of a call that names none. Between [`MIN_DEADLINE`] and [`MAX_DEADLINE`] when read from the environment.
    pub deadline: Duration,
}

/// Something in the environment that is odd but not fatal.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Warning {
    /// The variable, or the file it names, is empty: treated as not set.
    Empty {
        /// Name of the variable.
        variable: &'static str,
    },
    /// The variable, or the file it names, holds an unexpanded `${...}`: treated as not set.
    Placeholder {
        /// Name of the variable.
        variable: &'static str,
    },
    /// Both the variable and the file are set: the variable is used.
    BothKeys,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { variable } => write!(f, "{variable} is empty and treated as not set"),
            Self::Placeholder { variable } => {
                write!(f, "{variable} holds an unexpanded ${{...}} and is treated as not set")
            }
            Self::BothKeys => {
                f.write_str("KAVAL_API_KEY and KAVAL_API_KEY_FILE are both set: the file is not read")
            }
        }
    }
}

/// A setting that is refused at start. Names the variable, never the value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The key cannot be a key.
    #[error("{variable} {fault}")]
    Key {
        /// The variable that holds the key or names its file.
        variable: &'static str,
        /// What is wrong.
        fault: KeyFault,
    },
    /// The key file cannot be read.
    #[error("KAVAL_API_KEY_FILE names a file that cannot be used: {0}")]
    KeyFile(String),
    /// The base URL cannot be used.
    #[error("KAVAL_BASE_URL {0}")]
    BaseUrl(#[from] BaseUrlFault),
    /// The proxy that would be used cannot be.
    #[error("{variable} {fault}")]
    Proxy {
        /// The variable, in the spelling found.
        variable: &'static str,
        /// What is wrong.
        fault: ProxyFault,
    },
    /// The deadline is no number of milliseconds in range.
    #[error("KAVAL_TOOL_DEADLINE_MS is not a whole number from 1000 to 3600000")]
    Deadline,
    /// A switch is neither on nor off.
    #[error("{variable} is neither 1 nor 0")]
    Switch {
        /// Name of the variable.
        variable: &'static str,
    },
    /// The variable is not UTF-8.
    #[error("{variable} is not UTF-8")]
    NotUtf8 {
        /// Name of the variable.
        variable: &'static str,
    },
}

impl ConfigError {
    /// Stable snake_case code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Key { .. } => "invalid_api_key",
            Self::KeyFile(_) => "unreadable_api_key_file",
            Self::BaseUrl(_) => "invalid_base_url",
            Self::Proxy { .. } => "invalid_proxy",
            Self::Deadline => "invalid_deadline",
            Self::Switch { .. } => "invalid_switch",
            Self::NotUtf8 { .. } => "invalid_encoding",
        }
    }
}

impl Config {
    /// Settings for a base URL: no key, no proxy, the platform's trust, [`DEFAULT_DEADLINE`].
    #[must_use]
    pub fn new(base_url: BaseUrl) -> Self {
        Self { api_key: None, base_url, proxy: None, ca_file: None, deadline: DEFAULT_DEADLINE }
    }

    /// Reads the settings through `lookup`, which maps the name of a variable to its value.
    ///
    /// Reads `KAVAL_API_KEY`, `KAVAL_API_KEY_FILE`, `KAVAL_BASE_URL`, `KAVAL_ALLOW_HTTP`, `KAVAL_TOOL_DEADLINE_MS`,
    /// `SSL_CERT_FILE`, and `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY` in either case (lower case first, as curl does). For an http base URL
    /// that is not loopback, `http_proxy` in lower case stands for `HTTPS_PROXY`; to loopback over http no proxy is
    /// used. In the variables of ours, surrounding white space, a byte order mark and one pair of quotes are
    /// removed, and an empty value or an unexpanded `${...}` counts as not set. A missing key is no error.
    ///
    /// # Errors
    ///
    /// The first [`ConfigError`] found.
    pub fn from_env(lookup: &dyn Fn(&str) -> Option<OsString>) -> Result<(Self, Vec<Warning>), ConfigError> {
        let mut warnings = Vec::new();
        let api_key = read_key(lookup, &mut warnings)?;
        let plain = match setting(lookup, "KAVAL_ALLOW_HTTP", &mut warnings)?.as_deref() {
            Some("1" | "true") => PlainHttp::Anywhere,
            None | Some("0" | "false") => PlainHttp::Loopback,
            Some(_) => return Err(ConfigError::Switch { variable: "KAVAL_ALLOW_HTTP" }),
        };
        let base_url = setting(lookup, "KAVAL_BASE_URL", &mut warnings)?;
        let base_url = BaseUrl::parse(base_url.as_deref().unwrap_or(DEFAULT_BASE_URL), plain)?;
        let deadline = match setting(lookup, "KAVAL_TOOL_DEADLINE_MS", &mut warnings)? {
            None => DEFAULT_DEADLINE,
            Some(text) => read_deadline(&text)?,
        };
        let proxy = read_proxy(lookup, &base_url)?;
        let ca_file = lookup("SSL_CERT_FILE").filter(|path| !path.is_empty()).map(PathBuf::from);
        Ok((Self { api_key, base_url, proxy, ca_file, deadline }, warnings))
    }

    /// The research budget that fits the deadline: 10 s less, from 0 to 100 s.
    #[must_use]
    pub fn check_budget(&self) -> Duration {
        self.deadline.saturating_sub(BUDGET_MARGIN).min(MAX_CHECK_BUDGET)
    }
}

type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// A variable of ours as text, absent when empty or a placeholder.
fn setting(
    lookup: Lookup<'_>,
    variable: &'static str,
    warnings: &mut Vec<Warning>,
) -> Result<Option<String>, ConfigError> {
    let Some(value) = lookup(variable) else { return Ok(None) };
    let value = value.into_string().map_err(|_| ConfigError::NotUtf8 { variable })?;
    let value = unwrap_value(&value);
    if is_placeholder(value) {
        warnings.push(Warning::Placeholder { variable });
        return Ok(None);
    }
    // Hosts pass optional fields left blank as empty variables: not worth a warning, but for the key.
    Ok((!value.is_empty()).then(|| value.to_owned()))
}

fn read_key(lookup: Lookup<'_>, warnings: &mut Vec<Warning>) -> Result<Option<ApiKey>, ConfigError> {
    const KEY: &str = "KAVAL_API_KEY";
    const FILE: &str = "KAVAL_API_KEY_FILE";
    let path = lookup(FILE).filter(|path| !path.is_empty());
    let path = match path.as_ref().and_then(|path| path.to_str()).map(unwrap_value) {
        Some("") => None,
        Some(text) if is_placeholder(text) => {
            warnings.push(Warning::Placeholder { variable: FILE });
            None
        }
        Some(text) => Some(PathBuf::from(text)),
        None => path.map(PathBuf::from),
    };
    if let Some(value) = lookup(KEY) {
        let text = value.to_str().ok_or(ConfigError::Key { variable: KEY, fault: KeyFault::Character })?;
        if let Some(key) = checked_key(KEY, text, warnings)? {
            if path.is_some() {
                warnings.push(Warning::BothKeys);
            }
            return Ok(Some(key));
        }
    }
    let Some(path) = path else { return Ok(None) };
    let bytes = read_key_file(&path).map_err(ConfigError::KeyFile)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| ConfigError::Key { variable: FILE, fault: KeyFault::Character })?;
    checked_key(FILE, text, warnings)
}

fn checked_key(
    variable: &'static str,
    text: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Option<ApiKey>, ConfigError> {
    match ApiKey::parse(text) {
        Ok(key) => Ok(Some(key)),
        Err(KeyFault::Empty) => {
            warnings.push(Warning::Empty { variable });
            Ok(None)
        }
        Err(KeyFault::Placeholder) => {
            warnings.push(Warning::Placeholder { variable });
            Ok(None)
        }
        Err(fault) => Err(ConfigError::Key { variable, fault }),
    }
}

/// Reads a regular file. Reading a pipe or a terminal could wait for ever, and stdin is the protocol.
fn read_key_file(path: &Path) -> Result<Vec<u8>, String> {
    let metadata = std::fs::metadata(path).map_err(|e| e.kind().to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    let file = File::open(path).map_err(|e| e.kind().to_string())?;
    let mut bytes = Vec::new();
    file.take(MAX_KEY_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|e| e.kind().to_string())?;
    if u64::try_from(bytes.len()).is_ok_and(|n| n > MAX_KEY_FILE_BYTES) {
        return Err(format!("it is larger than {MAX_KEY_FILE_BYTES} bytes"));
    }
    Ok(bytes)
}

fn read_deadline(text: &str) -> Result<Duration, ConfigError> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let value = text.parse().ok().filter(|_| digits).map(Duration::from_millis);
    value.filter(|d| (MIN_DEADLINE..=MAX_DEADLINE).contains(d)).ok_or(ConfigError::Deadline)
}

/// The proxy for the base URL: only the variables that apply to it are read, so others cannot be in the way.
fn read_proxy(lookup: Lookup<'_>, base: &BaseUrl) -> Result<Option<Proxy>, ConfigError> {
    // Plain http to loopback is allowed because it stays on this machine: it must not go through a proxy.
    if !base.is_https() && base.is_loopback() {
        return Ok(None);
    }
    let read = |names: &[&'static str]| -> Result<Option<(&'static str, String)>, ConfigError> {
        for &variable in names {
            if let Some(value) = lookup(variable) {
                let value = value.into_string().map_err(|_| ConfigError::NotUtf8 { variable })?;
                // An empty variable turns the less specific ones off for nobody: it is as good as unset.
                if !value.trim().is_empty() {
                    return Ok(Some((variable, value.trim().to_owned())));
                }
            }
        }
        Ok(None)
    };
    // HTTP_PROXY in upper case can be set from outside where a server runs as CGI, so nobody reads it.
    let specific: &[&'static str] =
        if base.is_https() { &["https_proxy", "HTTPS_PROXY"] } else { &["http_proxy"] };
    let found = match read(specific)? {
        Some(found) => Some(found),
        None => read(&["all_proxy", "ALL_PROXY"])?,
    };
    let Some((variable, text)) = found else { return Ok(None) };
    if let Some((_, list)) = read(&["no_proxy", "NO_PROXY"])?
        && is_exempt(&list, base)
    {
        return Ok(None);
    }
    Proxy::parse(&text).map(Some).map_err(|fault| ConfigError::Proxy { variable, fault })
}
