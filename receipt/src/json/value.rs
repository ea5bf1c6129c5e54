//! JSON values in document order.

use super::string::JsonString;
use alloc::vec::Vec;

/// A JSON value. Borrows from the text it was read from wherever it can.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An IEEE-754 double; the strict reader yields only finite ones that lost nothing.
    Number(f64),
    /// A string.
    String(JsonString<'a>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object, members in document order.
    Object(Object<'a>),
}

impl<'a> Value<'a> {
    /// The object, if this is one.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object<'a>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The elements, if this is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Value<'a>]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The string, if this is one.
    #[must_use]
    pub fn as_string(&self) -> Option<&JsonString<'a>> {
        match self {
            Self::String(string) => Some(string),
            _ => None,
        }
    }

    /// The boolean, if this is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The member `key`, if this is an object that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.as_object()?.get(key)
    }

    /// The value an RFC 6901 JSON pointer names. The empty pointer names the value itself.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Value<'a>> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |value, token| match value {
            Value::Object(object) if token.contains('~') => {
                object.get(&token.replace("~1", "/").replace("~0", "~"))
            }
            Value::Object(object) => object.get(token),
            Value::Array(elements) => {
                let canonical = token == "0" || !token.starts_with(['0', '+']);
                canonical.then(|| elements.get(token.parse::<usize>().ok()?)).flatten()
            }
            _ => None,
        })
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::String(JsonString::from(text))
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl<'a> From<Vec<Value<'a>>> for Value<'a> {
    fn from(elements: Vec<Value<'a>>) -> Self {
        Self::Array(elements)
    }
}

impl<'a> From<Object<'a>> for Value<'a> {
    fn from(object: Object<'a>) -> Self {
        Self::Object(object)
    }
}

/// A JSON object: members in document order, each key once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object<'a> {
    members: Vec<(JsonString<'a>, Value<'a>)>,
}

impl<'a> Object<'a> {
    /// An object without members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Wraps members whose keys the caller has found to be distinct.
    pub(crate) fn from_distinct(members: Vec<(JsonString<'a>, Value<'a>)>) -> Self {
        Self { members }
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.members.iter().find(|(name, _)| *name == *key).map(|(_, value)| value)
    }

    /// Whether the member is present, whatever its value.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Appends a member, or replaces the value of the one with that key.
    pub fn insert(&mut self, key: impl Into<JsonString<'a>>, value: impl Into<Value<'a>>) {
        let (key, value) = (key.into(), value.into());
        match self.members.iter_mut().find(|(name, _)| *name == key) {
            Some((_, slot)) => *slot = value,
            None => self.members.push((key, value)),
        }
    }

    /// Number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The members in document order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&JsonString<'a>, &Value<'a>)> + Clone {
        self.members.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn members(&self) -> &[(JsonString<'a>, Value<'a>)] {
        &self.members
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn pointers_follow_rfc_6901() {
        let value = parse(r#"{"a":[{"b/c":1,"~":2,"":3}],"":{"0":4}}"#).expect("valid");
        let number = |pointer| value.pointer(pointer).cloned();
        assert_eq!(number("/a/0/b~1c"), Some(Value::Number(1.0)));
        assert_eq!(number("/a/0/~0"), Some(Value::Number(2.0)));
        assert_eq!(number("/a/0/"), Some(Value::Number(3.0)));
        assert_eq!(number("//0"), Some(Value::Number(4.0)));
        assert_eq!(value.pointer(""), Some(&value));
        for missing in ["a", "/a/00", "/a/+0", "/a/1", "/a/-", "/a/0/b/c", "/x"] {
            assert_eq!(number(missing), None, "{missing}");
        }
    }

    #[test]
    fn insert_keeps_one_member_a_key() {
        let mut object = Object::new();
        object.insert("a", true);
        object.insert("a", false);
        assert_eq!(object.len(), 1);
        assert_eq!(object.get("a"), Some(&Value::Bool(false)));
    }
}
