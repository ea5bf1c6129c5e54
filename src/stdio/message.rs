//! Reads one JSON-RPC message without building a tree of it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::id_scan::MAX_ID_BYTES;

/// The members of a message, as text. Where a member comes twice, the last one counts.
#[derive(Debug, Default)]
pub(crate) struct Message<'a> {
    pub(crate) jsonrpc: Option<&'a RawValue>,
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) method: Option<&'a RawValue>,
    pub(crate) params: Option<&'a RawValue>,
    /// A `result` or an `error` is there: an answer to something we never asked.
    pub(crate) is_response: bool,
}

/// What a message is once its frame has been checked.
#[derive(Debug)]
pub(crate) enum Kind<'a> {
    Request {
        id: &'a str,
        method: Cow<'a, str>,
    },
    Notification {
        method: Cow<'a, str>,
    },
    Response,
    /// Not a JSON-RPC message; the id if it can be repeated, and what is wrong.
    Invalid {
        id: Option<&'a str>,
        why: &'static str,
    },
}

impl<'a> Message<'a> {
    pub(crate) fn kind(&self) -> Kind<'a> {
        let (id, id_fault) = match self.id.map(|raw| read_id(raw.get())) {
            None => (None, None),
            Some(Ok(id)) => (Some(id), None),
            Some(Err((id, why))) => (id, Some(why)),
        };
        let invalid = |why| Kind::Invalid { id, why };
        if self.jsonrpc.is_none_or(|raw| raw.get() != "\"2.0\"") {
            return invalid("`jsonrpc` must be \"2.0\"");
        }
        let method = match self.method.map(|raw| text(raw.get())) {
            None if self.is_response => return Kind::Response,
            None => return invalid("`method` is missing"),
            Some(None) => return invalid("`method` must be a string"),
            Some(Some(method)) => method,
        };
        match (id, id_fault) {
            (_, Some(why)) => invalid(why),
            (Some(id), None) => Kind::Request { id, method },
            (None, None) => Kind::Notification { method },
        }
    }
}

type IdFault<'a> = (Option<&'a str>, &'static str);

/// A request id must be a string or an integer; a fraction is refused, yet repeated in the refusal.
fn read_id(raw: &str) -> Result<&str, IdFault<'_>> {
    if raw.len() > MAX_ID_BYTES {
        return Err((None, "`id` is longer than 4096 bytes"));
    }
    match raw.as_bytes().first() {
        Some(b'"') if text(raw).is_some() => Ok(raw),
        Some(b'-' | b'0'..=b'9') if !raw.contains(['.', 'e', 'E']) => Ok(raw),
        Some(b'-' | b'0'..=b'9') => Err((Some(raw), "`id` must be a string or an integer")),
        _ => Err((None, "`id` must be a string or an integer")),
    }
}

/// The content of a JSON string, if `raw` is one that Unicode text can hold.
pub(crate) fn text(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str::<String>(raw).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Message<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Message<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut message = Message::default();
                while let Some(name) = map.next_key::<&RawValue>()? {
                    match name.get() {
                        "\"jsonrpc\"" => message.jsonrpc = Some(map.next_value()?),
                        "\"id\"" => message.id = Some(map.next_value()?),
                        "\"method\"" => message.method = Some(map.next_value()?),
                        "\"params\"" => message.params = Some(map.next_value()?),
                        "\"result\"" | "\"error\"" => {
                            message.is_response = true;
                            map.next_value::<IgnoredAny>()?;
                        }
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(message)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// The `params` of a request, as text.
#[derive(Debug, Default)]
pub(crate) struct Params<'a> {
    pub(crate) name: Option<&'a RawValue>,
    pub(crate) arguments: Option<&'a RawValue>,
    pub(crate) meta: Option<&'a RawValue>,
    pub(crate) protocol_version: Option<&'a RawValue>,
    pub(crate) request_id: Option<&'a RawValue>,
    pub(crate) cursor: Option<&'a RawValue>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Params<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Params<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut params = Params::default();
                while let Some(name) = map.next_key::<&RawValue>()? {
                    match name.get() {
                        "\"name\"" => params.name = Some(map.next_value()?),
                        "\"arguments\"" => params.arguments = Some(map.next_value()?),
                        "\"_meta\"" => params.meta = Some(map.next_value()?),
                        "\"protocolVersion\"" => params.protocol_version = Some(map.next_value()?),
                        "\"requestId\"" => params.request_id = Some(map.next_value()?),
                        "\"cursor\"" => params.cursor = Some(map.next_value()?),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(params)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// The members of `_meta` that this server reads, as text.
#[derive(Debug, Default)]
pub(crate) struct Meta<'a> {
    pub(crate) progress_token: Option<&'a RawValue>,
    pub(crate) protocol_version: Option<&'a RawValue>,
    pub(crate) traceparent: Option<&'a RawValue>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Meta<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Meta<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut meta = Meta::default();
                while let Some(name) = map.next_key::<&RawValue>()? {
                    match name.get() {
                        "\"progressToken\"" => meta.progress_token = Some(map.next_value()?),
                        "\"io.modelcontextprotocol/protocolVersion\"" => {
                            meta.protocol_version = Some(map.next_value()?);
                        }
                        "\"traceparent\"" => meta.traceparent = Some(map.next_value()?),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(meta)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl Meta<'_> {
    /// The progress token as spelled: a string or an integer.
    pub(crate) fn token(&self) -> Option<Box<str>> {
        self.progress_token.map(RawValue::get).filter(|raw| read_id(raw).is_ok()).map(Box::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> String {
        match serde_json::from_str::<Message<'_>>(text).unwrap().kind() {
            Kind::Request { id, method } => format!("request {id} {method}"),
            Kind::Notification { method } => format!("notification {method}"),
            Kind::Response => "response".to_owned(),
            Kind::Invalid { id, why } => format!("invalid {id:?}: {why}"),
        }
    }

    #[test]
    fn tells_requests_notifications_and_the_rest_apart() {
        for (text, want) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, "request 1 a"),
            (r#"{"method":"a\u0062","id":"x","jsonrpc":"2.0"}"#, r#"request "x" ab"#),
            (r#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"a"}"#, "request 99999999999999999999 a"),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#, "request 2 a"),
            (r#"{"jsonrpc":"2.0","method":"a"}"#, "notification a"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "response"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "invalid Some(\"1\"): `method` is missing"),
            (r#"{"jsonrpc":"2.0","id":1,"method":3}"#, "invalid Some(\"1\"): `method` must be a string"),
            (r#"{"id":1,"method":"a"}"#, "invalid Some(\"1\"): `jsonrpc` must be \"2.0\""),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#,
                "invalid Some(\"1.5\"): `id` must be a string or an integer",
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#,
                "invalid None: `id` must be a string or an integer",
            ),
        ] {
            assert_eq!(kind(text), want, "{text}");
        }
    }
}
