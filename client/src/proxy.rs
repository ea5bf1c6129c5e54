//! The proxy, if any, between this machine and the API.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use url::{Host, Url};

use crate::base_url::BaseUrl;

/// An HTTP proxy. `Debug` and `Display` leave its credentials out.
#[derive(Clone, Eq, PartialEq)]
pub struct Proxy {
    host: String,
    port: u16,
    authorization: Option<HeaderValue>,
}

/// Why a text is no proxy URL that can be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyFault {
    /// Not a URL with a host.
    #[error("is not a proxy URL such as http://proxy.example:3128")]
    Syntax,
    /// A proxy that is not spoken to over plain HTTP.
    #[error("names a kind of proxy that is not supported: only http:// proxies are")]
    Scheme,
}

impl Proxy {
    /// Reads a proxy URL: `http://[user:password@]host[:port]`, or the same without scheme. Port 80 if none is given.
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
        if url.scheme() != "http" {
            return Err(ProxyFault::Scheme);
        }
        let host = match url.host().ok_or(ProxyFault::Syntax)? {
            Host::Domain(name) => name.to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        let port = url.port_or_known_default().filter(|p| *p != 0).ok_or(ProxyFault::Syntax)?;
        let authorization = if url.username().is_empty() && url.password().is_none() {
            None
        } else {
            let mut pair = percent_decode(url.username());
            pair.push(b':');
            pair.extend(percent_decode(url.password().unwrap_or_default()));
            let text = format!("Basic {}", STANDARD.encode(pair));
            let mut value = HeaderValue::from_str(&text).map_err(|_| ProxyFault::Syntax)?;
            value.set_sensitive(true);
            Some(value)
        };
        Ok(Self { host, port, authorization })
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

    pub(crate) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "http://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "http://{}:{}", self.host, self.port)
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
        for text in ["socks5://127.0.0.1:1080", "https://proxy.example"] {
            assert_eq!(Proxy::parse(text), Err(ProxyFault::Scheme), "{text}");
        }
        for text in ["http://", "http://a b", "http://proxy:0", "proxy:port"] {
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
