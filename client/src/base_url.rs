//! The origin, and path prefix, that requests go to.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr as _;

use http::uri::{Authority, PathAndQuery, Scheme};
use url::{Host, Url};

/// Base URL used when none is configured.
///
/// Source: HTTP API, section 1.
pub const DEFAULT_BASE_URL: &str = "https://api.usekaval.com";

/// A checked base URL: http or https, a host, an optional port and path prefix, nothing else.
#[derive(Clone, Eq, PartialEq)]
pub struct BaseUrl {
    scheme: Scheme,
    authority: Authority,
    host: Host<String>,
    port: u16,
    /// Path prefix without trailing slash; empty or starting with `/`.
    prefix: String,
}

/// Why a text is no base URL.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BaseUrlFault {
    /// Not an absolute URL.
    #[error("is not an absolute http(s) URL: {0}")]
    Syntax(String),
    /// Another scheme than http and https.
    #[error("has a scheme other than http and https")]
    Scheme,
    /// A user name or password: credentials belong into the key.
    #[error("holds a user name or password")]
    UserInfo,
    /// A query.
    #[error("holds a query (`?`)")]
    Query,
    /// A fragment.
    #[error("holds a fragment (`#`)")]
    Fragment,
    /// Plain http to another host than loopback, which would send the key readable over the network.
    #[error("is plain http to a host other than loopback: use https, or set KAVAL_ALLOW_HTTP=1")]
    PlainHttp,
}

/// Whether plain http may leave the machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PlainHttp {
    /// To any host.
    Anywhere,
    /// To loopback only.
    Loopback,
}

impl BaseUrl {
    /// Reads and checks a base URL. Trailing slashes are removed.
    ///
    /// # Errors
    ///
    /// A [`BaseUrlFault`]; it never repeats the text, which may hold a password.
    pub fn parse(text: &str, plain: PlainHttp) -> Result<Self, BaseUrlFault> {
        if text.chars().any(|c| c.is_control() || c == ' ' || c == '\\') {
            return Err(BaseUrlFault::Syntax(
                "it holds a space, a control character or a backslash".to_owned(),
            ));
        }
        let url = Url::parse(text).map_err(|e| BaseUrlFault::Syntax(e.to_string()))?;
        let scheme = match url.scheme() {
            "http" => Scheme::HTTP,
            "https" => Scheme::HTTPS,
            _ => return Err(BaseUrlFault::Scheme),
        };
        if !url.username().is_empty() || url.password().is_some() || text_has_user_info(text) {
            return Err(BaseUrlFault::UserInfo);
        }
        if url.query().is_some() {
            return Err(BaseUrlFault::Query);
        }
        if url.fragment().is_some() {
            return Err(BaseUrlFault::Fragment);
        }
        let syntax = |what: &str| BaseUrlFault::Syntax(what.to_owned());
        let host = url.host().ok_or_else(|| syntax("it has no host"))?.to_owned();
        let port = url.port_or_known_default().ok_or_else(|| syntax("it has no port"))?;
        if port == 0 {
            return Err(syntax("port 0 cannot be connected to"));
        }
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_string(),
        };
        let authority = Authority::from_str(&authority).map_err(|_| syntax("its host is not valid"))?;
        let prefix = url.path().trim_end_matches('/').to_owned();
        if !prefix.is_empty() && PathAndQuery::from_str(&prefix).is_err() {
            return Err(syntax("its path is not valid"));
        }
        let base = Self { scheme, authority, host, port, prefix };
        if base.scheme == Scheme::HTTP && plain == PlainHttp::Loopback && !base.is_loopback() {
            return Err(BaseUrlFault::PlainHttp);
        }
        Ok(base)
    }

    /// Whether the host is this machine: `localhost`, a name below it, 127.0.0.0/8 or `::1`.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Domain(name) => {
                let name = name.trim_end_matches('.');
                name == "localhost" || name.ends_with(".localhost")
            }
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        }
    }

    /// Whether requests go over TLS.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// The host without brackets, lower case.
    #[must_use]
    pub fn host(&self) -> String {
        match self.ip() {
            Some(address) => address.to_string(),
            None => self.host.to_string(),
        }
    }

    /// The port, given or implied by the scheme.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address, where the host is a literal one.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        match self.host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }

    pub(crate) fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.prefix)
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BaseUrl({self})")
    }
}

/// An empty user part (`https://@host`) is dropped by the parser, but is user-info all the same.
fn text_has_user_info(text: &str) -> bool {
    let rest = text.split_once(':').map_or(text, |(_, rest)| rest).trim_start_matches('/');
    rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, BaseUrlFault> {
        BaseUrl::parse(text, PlainHttp::Loopback).map(|base| base.to_string())
    }

    #[test]
    fn forms_accepted() {
        for (text, expected) in [
            ("https://api.usekaval.com", "https://api.usekaval.com"),
            ("https://api.usekaval.com/", "https://api.usekaval.com"),
            ("https://api.usekaval.com//", "https://api.usekaval.com"),
            ("HTTPS://API.usekaval.com:443/kaval/", "https://api.usekaval.com/kaval"),
            ("https://gateway.example:8443/a/b//", "https://gateway.example:8443/a/b"),
            ("https://[2001:db8::1]/x", "https://[2001:db8::1]/x"),
            ("http://[::1]:8787", "http://[::1]:8787"),
            ("http://127.0.0.1:8787/", "http://127.0.0.1:8787"),
            ("http://localhost:1", "http://localhost:1"),
            ("http://api.localhost", "http://api.localhost"),
            ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
        ] {
            assert_eq!(parse(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn forms_refused() {
        for (text, fault) in [
            ("ftp://api.example", BaseUrlFault::Scheme),
            ("https://user@api.example", BaseUrlFault::UserInfo),
            ("https://user:secret@api.example", BaseUrlFault::UserInfo),
            ("https://@api.example", BaseUrlFault::UserInfo),
            ("https://:@api.example", BaseUrlFault::UserInfo),
            ("https://api.example?x=1", BaseUrlFault::Query),
            ("https://api.example/?", BaseUrlFault::Query),
            ("https://api.example/#", BaseUrlFault::Fragment),
            ("http://api.example", BaseUrlFault::PlainHttp),
            ("http://10.0.0.1", BaseUrlFault::PlainHttp),
            ("http://localhost.example", BaseUrlFault::PlainHttp),
            ("http://[::2]", BaseUrlFault::PlainHttp),
        ] {
            assert_eq!(parse(text), Err(fault), "{text}");
        }
        for text in [
            "",
            "api.usekaval.com",
            "https://",
            "https://a b",
            "https:\\\\api",
            "https://api:0",
            "https://api:99999",
            "https://a\n.b",
        ] {
            assert!(matches!(parse(text), Err(BaseUrlFault::Syntax(_))), "{text:?}");
        }
        let fault = parse("https://user:secret@api.example").expect_err("refused").to_string();
        assert!(!fault.contains("secret"));
    }

    #[test]
    fn plain_http_can_be_allowed() {
        assert!(BaseUrl::parse("http://api.example", PlainHttp::Anywhere).is_ok());
    }
}
