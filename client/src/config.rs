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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io::Write as _;

    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<(Config, Vec<Warning>), ConfigError> {
        let map: HashMap<_, _> = pairs.iter().map(|(k, v)| ((*k).to_owned(), OsString::from(v))).collect();
        Config::from_env(&|name| map.get(name).cloned())
    }

    fn key(config: &Config) -> Option<&str> {
        config.api_key.as_ref().map(|k| k.authorization().to_str().expect("ASCII"))
    }

    fn proxy(pairs: &[(&str, &str)]) -> Option<String> {
        read(pairs).expect("valid").0.proxy.map(|p| p.to_string())
    }

    fn file(content: &[u8]) -> (tempfile::NamedTempFile, String) {
        let mut file = tempfile::NamedTempFile::new().expect("temporary file");
        file.write_all(content).expect("written");
        let path = file.path().to_str().expect("UTF-8").to_owned();
        (file, path)
    }

    #[test]
    fn nothing_set_is_the_hosted_api_without_key() {
        let (config, warnings) = read(&[]).expect("valid");
        assert_eq!(config.base_url.to_string(), DEFAULT_BASE_URL);
        assert_eq!(
            (key(&config), config.deadline, config.check_budget()),
            (None, DEFAULT_DEADLINE, Duration::from_secs(45))
        );
        assert!(warnings.is_empty() && config.proxy.is_none() && config.ca_file.is_none());
    }

    #[test]
    fn blank_and_placeholder_values_count_as_unset() {
        for value in ["", " ", "\"\"", "${KAVAL_X}"] {
            let (config, _) = read(&[
                ("KAVAL_BASE_URL", value),
                ("KAVAL_API_KEY", value),
                ("KAVAL_API_KEY_FILE", value),
                ("KAVAL_TOOL_DEADLINE_MS", value),
                ("KAVAL_ALLOW_HTTP", value),
            ])
            .expect(value);
            assert_eq!((config.base_url.to_string().as_str(), key(&config)), (DEFAULT_BASE_URL, None));
        }
        assert_eq!(
            read(&[("KAVAL_API_KEY", "")]).expect("valid").1,
            [Warning::Empty { variable: "KAVAL_API_KEY" }]
        );
        let placeholder = read(&[("KAVAL_API_KEY", "${KEY}")]).expect("valid").1;
        assert_eq!(placeholder, [Warning::Placeholder { variable: "KAVAL_API_KEY" }]);
        assert!(placeholder[0].to_string().contains("KAVAL_API_KEY"));
    }

    #[test]
    fn the_key_comes_from_the_variable_or_the_file() {
        let (_kept, path) = file(b"\xef\xbb\xbf\"kv_live_file\"\r\n");
        let (config, warnings) = read(&[("KAVAL_API_KEY_FILE", &path)]).expect("valid");
        assert_eq!((key(&config), warnings), (Some("Bearer kv_live_file"), vec![]));
        let (config, warnings) =
            read(&[("KAVAL_API_KEY_FILE", &path), ("KAVAL_API_KEY", "kv_live_var")]).expect("valid");
        assert_eq!((key(&config), warnings), (Some("Bearer kv_live_var"), vec![Warning::BothKeys]));
        let (config, warnings) =
            read(&[("KAVAL_API_KEY_FILE", &path), ("KAVAL_API_KEY", "${X}")]).expect("valid");
        assert_eq!(key(&config), Some("Bearer kv_live_file"));
        assert_eq!(warnings, [Warning::Placeholder { variable: "KAVAL_API_KEY" }]);
        let (_kept, path) = file(b"\n");
        let (config, warnings) = read(&[("KAVAL_API_KEY_FILE", &path)]).expect("valid");
        assert_eq!((key(&config), warnings), (None, vec![Warning::Empty { variable: "KAVAL_API_KEY_FILE" }]));
    }

    #[test]
    fn a_bad_key_names_the_variable_and_never_the_value() {
        for value in ["Bearer kv_live_canary", "kv_live\ncanary", "kv live canary", "canary\u{e9}"] {
            let error = read(&[("KAVAL_API_KEY", value)]).expect_err(value);
            assert_eq!(error.code(), "invalid_api_key");
            assert!(error.to_string().starts_with("KAVAL_API_KEY "), "{error}");
            assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
            let (_kept, path) = file(value.as_bytes());
            let error = read(&[("KAVAL_API_KEY_FILE", &path)]).expect_err(value);
            assert!(error.to_string().starts_with("KAVAL_API_KEY_FILE "), "{error}");
            assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
        }
    }

    #[test]
    fn an_unusable_key_file_is_refused() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let large = file(&[b'k'; 70_000]);
        let binary = file(b"\xff\xfe\xfd");
        let missing = directory.path().join("missing");
        let mut paths = vec![directory.path().to_str(), missing.to_str(), Some(&large.1)];
        if cfg!(unix) {
            paths.push(Some("/dev/null"));
        }
        for path in paths {
            let error = read(&[("KAVAL_API_KEY_FILE", path.expect("UTF-8"))]).expect_err("refused");
            assert_eq!(error.code(), "unreadable_api_key_file", "{error}");
        }
        assert_eq!(
            read(&[("KAVAL_API_KEY_FILE", &binary.1)]).expect_err("refused").code(),
            "invalid_api_key"
        );
    }

    #[test]
    #[cfg(unix)]
    fn values_that_are_not_utf8_are_refused() {
        use std::os::unix::ffi::OsStringExt as _;
        let lookup = |wanted: &'static str| {
            move |name: &str| (name == wanted).then(|| OsString::from_vec(vec![b'k', 0xff]))
        };
        for (name, code) in [
            ("KAVAL_API_KEY", "invalid_api_key"),
            ("KAVAL_BASE_URL", "invalid_encoding"),
            ("HTTPS_PROXY", "invalid_encoding"),
        ] {
            assert_eq!(Config::from_env(&lookup(name)).expect_err(name).code(), code);
        }
    }

    #[test]
    fn deadline_and_budget_move_together() {
        for (text, deadline, budget) in
            [("1000", 1_000, 0), ("12000", 12_000, 2_000), ("3600000", 3_600_000, 100_000)]
        {
            let config = read(&[("KAVAL_TOOL_DEADLINE_MS", text)]).expect(text).0;
            assert_eq!(config.deadline, Duration::from_millis(deadline));
            assert_eq!(config.check_budget(), Duration::from_millis(budget));
        }
        for text in ["999", "3600001", "-1", "+5000", "1e4", "5000.0", "5s", "99999999999999999999999"] {
            assert_eq!(read(&[("KAVAL_TOOL_DEADLINE_MS", text)]).expect_err(text).code(), "invalid_deadline");
        }
    }

    #[test]
    fn plain_http_needs_the_switch() {
        let plain = ("KAVAL_BASE_URL", "http://api.kaval.example");
        let error = read(&[plain]).expect_err("refused");
        assert!(
            error.to_string().contains("KAVAL_BASE_URL") && error.to_string().contains("KAVAL_ALLOW_HTTP")
        );
        assert!(read(&[plain, ("KAVAL_ALLOW_HTTP", "1")]).is_ok());
        assert_eq!(
            read(&[plain, ("KAVAL_ALLOW_HTTP", "0")]).expect_err("refused").code(),
            "invalid_base_url"
        );
        assert_eq!(
            read(&[plain, ("KAVAL_ALLOW_HTTP", "yes")]).expect_err("refused").code(),
            "invalid_switch"
        );
    }

    #[test]
    fn only_the_proxy_that_applies_is_read() {
        let (one, two) = ("http://one:1", "http://two:2");
        assert_eq!(proxy(&[("HTTPS_PROXY", one), ("ALL_PROXY", two)]).as_deref(), Some(one));
        assert_eq!(proxy(&[("https_proxy", one), ("HTTPS_PROXY", two)]).as_deref(), Some(one));
        assert_eq!(proxy(&[("HTTPS_PROXY", one), ("ALL_PROXY", "socks4://x")]).as_deref(), Some(one));
        assert_eq!(proxy(&[("https_proxy", ""), ("all_proxy", two)]).as_deref(), Some(two));
        assert_eq!(proxy(&[("HTTP_PROXY", one)]), None);
        assert_eq!(proxy(&[("HTTPS_PROXY", one), ("no_proxy", "usekaval.com")]), None);
        assert_eq!(proxy(&[("HTTPS_PROXY", "socks4://x"), ("NO_PROXY", "*")]), None);
        let local = ("KAVAL_BASE_URL", "http://127.0.0.1:9");
        assert_eq!(proxy(&[local, ("ALL_PROXY", one), ("http_proxy", one)]), None);
        let plain = [("KAVAL_BASE_URL", "http://api.kaval.example"), ("KAVAL_ALLOW_HTTP", "1")];
        assert_eq!(
            proxy(&[plain[0], plain[1], ("http_proxy", one), ("HTTPS_PROXY", two)]).as_deref(),
            Some(one)
        );
        assert_eq!(proxy(&[plain[0], plain[1], ("HTTP_PROXY", one), ("HTTPS_PROXY", two)]), None);
        let error = read(&[("ALL_PROXY", "socks4://user:canary@x")]).expect_err("refused");
        assert_eq!((error.code(), error.to_string().contains("ALL_PROXY")), ("invalid_proxy", true));
        assert!(!format!("{error} {error:?}").contains("canary"));
    }

    #[test]
    fn debug_shows_no_secret() {
        let pairs = [("KAVAL_API_KEY", "kv_live_canary"), ("HTTPS_PROXY", "http://u:canary@p:1")];
        let (config, _) = read(&pairs).expect("valid");
        assert!(
            !format!("{config:?} {config:#?} {:?}", crate::Client::new(config.clone())).contains("canary")
        );
    }
}
