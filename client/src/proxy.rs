//! The proxy, if any, between this machine and the API.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use url::{Host, Url};

use crate::base_url::BaseUrl;

/// A proxy. `Debug` and `Display` leave its credentials out.
#[derive(Clone, Eq, PartialEq)]
pub struct Proxy {
    kind: ProxyKind,
    host: String,
    port: u16,
    credentials: Option<(String, String)>,
    authorization: Option<HeaderValue>,
}

/// How a proxy is spoken to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ProxyKind {
    /// HTTP: a tunnel by CONNECT for https, whole addresses for http.
    Http,
    /// SOCKS 5: a tunnel for both. The proxy resolves names.
    Socks5,
}

/// Why a text is no proxy URL that can be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyFault {
    /// Not a URL with a host.
    #[error("is not a proxy URL such as http://proxy.example:3128")]
    Syntax,
    /// A proxy that is spoken to in another way than plain HTTP or SOCKS 5.
    #[error("names a kind of proxy that is not supported: http://, socks5:// and socks5h:// are")]
    Scheme,
}

impl Proxy {
    /// Reads a proxy URL: `http://[user:password@]host[:port]`, the same without scheme, or with `socks5` or `socks5h`.
    /// Without a port, 80 for http and 1080 for SOCKS.
    ///
    /// # Errors
    ///
    /// A [`ProxyFault`], never with the text, which may hold a password.
    pub fn parse(text: &str) -> Result<Self, ProxyFault> {
        let with_scheme;
        let text = if text.contains("://") {
            text
        } else {
            with_scheme = format!("http://{text}");
            &with_scheme
        };
        let url = Url::parse(text).map_err(|_| ProxyFault::Syntax)?;
        let (kind, default_port) = match url.scheme() {
            "http" => (ProxyKind::Http, 80),
            "socks5" | "socks5h" => (ProxyKind::Socks5, 1080),
            _ => return Err(ProxyFault::Scheme),
        };
        let host = match url.host().ok_or(ProxyFault::Syntax)? {
            // Of schemes it does not know, the parser takes over hosts as they are.
            Host::Domain(name) if name.is_empty() || name.contains('%') => return Err(ProxyFault::Syntax),
            Host::Domain(name) => name.to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        let port = url.port().unwrap_or(default_port);
        if port == 0 {
            return Err(ProxyFault::Syntax);
        }
        let decode = |text| String::from_utf8(percent_decode(text)).map_err(|_| ProxyFault::Syntax);
        let credentials = if url.username().is_empty() && url.password().is_none() {
            None
        } else {
            Some((decode(url.username())?, decode(url.password().unwrap_or_default())?))
        };
        let authorization = match &credentials {
            Some((user, password)) => {
                let text = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
                let mut value = HeaderValue::from_str(&text).map_err(|_| ProxyFault::Syntax)?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        Ok(Self { kind, host, port, credentials, authorization })
    }

    /// Host of the proxy, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port of the proxy.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How the proxy is spoken to.
    #[must_use]
    pub fn kind(&self) -> ProxyKind {
        self.kind
    }

    pub(crate) fn credentials(&self) -> Option<&(String, String)> {
        self.credentials.as_ref()
    }

    pub(crate) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.kind {
            ProxyKind::Http => "http",
            ProxyKind::Socks5 => "socks5",
        };
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{scheme}://{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}

/// Whether a `NO_PROXY` list exempts the host of `base`.
///
/// Entries are separated by commas or white space: `*`; a host, which covers the names below it too; `.suffix` or
/// `*.suffix`; an address; a network as `address/bits`. Any but a network may end in `:port`. Others are skipped.
#[must_use]
pub fn is_exempt(no_proxy: &str, base: &BaseUrl) -> bool {
    let host = base.host();
    let host = host.trim_end_matches('.');
    let ip = base.ip();
    let entries = no_proxy.split(|c: char| c == ',' || c.is_whitespace()).filter(|e| !e.is_empty());
    for entry in entries {
        if entry == "*" {
            return true;
        }
        if let Some((network, bits)) = entry.split_once('/') {
            if let (Some(ip), Ok(network), Ok(bits)) = (ip, literal(network), bits.parse::<u32>())
                && contains(network, bits, ip)
            {
                return true;
            }
            continue;
        }
        let (name, port) = split_port(entry);
        if port.is_some_and(|p| p != base.port()) {
            continue;
        }
        if let Ok(address) = literal(name) {
            if ip.is_some_and(|ip| ip.to_canonical() == address.to_canonical()) {
                return true;
            }
            continue;
        }
        let name = name.trim_start_matches('*').trim_matches('.').to_ascii_lowercase();
        let below =
            host.strip_suffix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        if ip.is_none() && !name.is_empty() && below {
            return true;
        }
    }
    false
}

fn literal(text: &str) -> Result<IpAddr, std::net::AddrParseError> {
    text.trim_start_matches('[').trim_end_matches(']').parse()
}

/// Splits `host:port`. A bare IPv6 address has several colons and no port.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    match entry.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}

fn contains(network: IpAddr, bits: u32, ip: IpAddr) -> bool {
    match (network, ip.to_canonical()) {
        (IpAddr::V4(network), IpAddr::V4(ip)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            network.to_bits() & mask == ip.to_bits() & mask
        }
        (IpAddr::V6(network), IpAddr::V6(ip)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            network.to_bits() & mask == ip.to_bits() & mask
        }
        _ => false,
    }
}

fn percent_decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let pair = bytes.get(at + 1..at + 3).and_then(|p| std::str::from_utf8(p).ok());
        match pair.and_then(|p| u8::from_str_radix(p, 16).ok()) {
            Some(decoded) if byte == b'%' => {
                out.push(decoded);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base_url::PlainHttp;

    #[test]
    fn proxy_urls() {
        let plain = Proxy::parse("proxy.example:3128").expect("valid");
        assert_eq!((plain.host(), plain.port(), plain.authorization()), ("proxy.example", 3128, None));
        assert_eq!(Proxy::parse("http://proxy.example").expect("valid").port(), 80);
        assert_eq!(Proxy::parse("http://[::1]:3128").expect("valid").to_string(), "http://[::1]:3128");
        let full = Proxy::parse("http://user:p%40ss@10.0.0.1:8080/").expect("valid");
        assert_eq!(full.authorization().and_then(|v| v.to_str().ok()), Some("Basic dXNlcjpwQHNz"));
        assert_eq!(format!("{full} {full:?}"), "http://10.0.0.1:8080 Proxy(http://10.0.0.1:8080)");
        let socks = Proxy::parse("socks5h://user:p%40ss@127.0.0.1").expect("valid");
        assert_eq!(
            (socks.kind(), socks.to_string().as_str()),
            (ProxyKind::Socks5, "socks5://127.0.0.1:1080")
        );
        assert_eq!(socks.credentials(), Some(&("user".to_owned(), "p@ss".to_owned())));
        assert_eq!(Proxy::parse("socks5://[::1]:9").expect("valid").to_string(), "socks5://[::1]:9");
        for text in ["socks4://127.0.0.1:1080", "https://proxy.example", "ftp://proxy.example"] {
            assert_eq!(Proxy::parse(text), Err(ProxyFault::Scheme), "{text}");
        }
        for text in [
            "http://",
            "http://a b",
            "http://proxy:0",
            "proxy:port",
            "socks5://",
            "socks5://a%20b",
            "http://u%ff@proxy",
        ] {
            assert_eq!(Proxy::parse(text), Err(ProxyFault::Syntax), "{text}");
        }
    }

    fn exempt(list: &str, url: &str) -> bool {
        is_exempt(list, &BaseUrl::parse(url, PlainHttp::Anywhere).expect("valid"))
    }

    #[test]
    fn exemptions() {
        let api = "https://api.kaval.example";
        for list in [
            "*",
            "api.kaval.example",
            "API.Kaval.Example",
            "kaval.example",
            ".kaval.example",
            "*.kaval.example",
            "a.b, kaval.example ,c",
            "a.b kaval.example",
            "api.kaval.example:443",
            "kaval.example:443",
            "api.kaval.example.",
        ] {
            assert!(exempt(list, api), "{list}");
        }
        for list in [
            "",
            ",",
            "aval.example",
            "other.api.kaval.example",
            "api.kaval.example:8443",
            "10.0.0.0/8",
            ".",
            "*.",
            "/8",
            "0.0.0.0/0",
        ] {
            assert!(!exempt(list, api), "{list}");
        }
    }

    #[test]
    fn exempt_addresses_and_networks() {
        for (list, url) in [
            ("10.1.2.3", "http://10.1.2.3"),
            ("10.0.0.0/8", "http://10.1.2.3"),
            ("10.1.2.3/32", "http://10.1.2.3"),
            ("0.0.0.0/0", "http://10.1.2.3"),
            ("10.1.2.3:8080", "http://10.1.2.3:8080"),
            ("2001:db8::1", "https://[2001:db8::1]"),
            ("[2001:db8::1]", "https://[2001:db8::1]"),
            ("[2001:db8::1]:443", "https://[2001:db8::1]"),
            ("2001:db8::/32", "https://[2001:db8:1::1]"),
            ("10.0.0.0/8", "https://[::ffff:10.1.2.3]"),
        ] {
            assert!(exempt(list, url), "{list} {url}");
        }
        for (list, url) in [
            ("10.0.0.0/8", "http://11.1.2.3"),
            ("10.1.2.2/32", "http://10.1.2.3"),
            ("10.0.0.0/33", "http://10.1.2.3"),
            ("10.0.0.0/-1", "http://10.1.2.3"),
            ("2.3", "http://10.1.2.3"),
            ("2001:db8::/129", "https://[2001:db8::1]"),
            ("2001:db8::/33", "https://[2001:db8:8000::1]"),
            ("::/0", "http://10.1.2.3"),
        ] {
            assert!(!exempt(list, url), "{list} {url}");
        }
    }
}
