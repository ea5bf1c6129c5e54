//! Key documents: every accepted shape, lifecycle and trust.
//!
//! Source: receipt verification, sections 6 and 7.

use crate::base64url::{self, Base64Fault};
use crate::canonical;
use crate::instant::Instant;
use crate::json::{JsonString, Object, Value};
use crate::signature::PublicKey;
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// Longest key id, in UTF-16 code units.
pub const MAX_KEY_ID_LEN: usize = 128;
/// Longest lifecycle reason, in UTF-16 code units.
pub const MAX_REASON_LEN: usize = 1_000;

/// State of a key in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifecycleStatus {
    /// In use.
    Active,
    /// No longer used for signing; what it signed stays trusted.
    Retired,
    /// Withdrawn: not trusted.
    Revoked,
    /// Known to somebody else: not trusted.
    Compromised,
}

impl LifecycleStatus {
    fn parse(text: &JsonString<'_>) -> Option<Self> {
        [Self::Active, Self::Retired, Self::Revoked, Self::Compromised]
            .into_iter()
            .find(|status| *text == *status.as_str())
    }

    /// The word key documents use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Retired => "retired",
            Self::Revoked => "revoked",
            Self::Compromised => "compromised",
        }
    }
}

/// What a key document says about a key's life.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    /// The state.
    pub status: LifecycleStatus,
    /// When the state was entered, as spelled in the document. Never influences trust.
    pub status_changed_at: Option<JsonString<'static>>,
    /// Why, in the operator's words.
    pub reason: Option<JsonString<'static>>,
}

/// One verification key.
#[derive(Clone, Debug)]
pub struct Key {
    /// Identifier, 1 to 128 UTF-16 code units, not blank.
    pub key_id: JsonString<'static>,
    /// The public half.
    pub public_key: PublicKey,
    /// The canonical form the key declares, its own or its keyset's. Keys that inherit one share it: a keyset
    /// can hold thousands, and the text has no limit of its own.
    pub canonicalization: Option<Arc<JsonString<'static>>>,
    /// The key's lifecycle, when the document states one.
    pub lifecycle: Option<Lifecycle>,
}

impl Key {
    /// Whether a valid signature of this key counts: it declares `kaval-stable-json-v1` and is active or
    /// retired.
    ///
    /// Source: receipt verification, section 7.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        matches!(self.trust_code(), "active" | "retired")
    }

    /// A stable name for why the key is trusted or not: `active`, `retired`, `revoked`, `compromised`,
    /// `lifecycle_unspecified`, `canonicalization_undeclared` or `canonicalization_unsupported`.
    #[must_use]
    pub fn trust_code(&self) -> &'static str {
        match (&self.canonicalization, &self.lifecycle) {
            (None, _) => "canonicalization_undeclared",
            (Some(form), _) if **form != *canonical::ALGORITHM => "canonicalization_unsupported",
            (Some(_), Some(lifecycle)) => lifecycle.status.as_str(),
            (Some(_), None) => "lifecycle_unspecified",
        }
    }

    /// Why the key is trusted or not, in words; the document's own reason follows after a colon.
    #[must_use]
    pub fn trust_reason(&self) -> Cow<'static, str> {
        let base = match (self.trust_code(), &self.canonicalization) {
            ("canonicalization_undeclared", _) => "the key declares no canonical form".into(),
            ("canonicalization_unsupported", Some(form)) => {
                let form = form.excerpt();
                Cow::from(format!("the key declares the canonical form {form}, which is not supported"))
            }
            ("active", _) => "the key is active".into(),
            ("retired", _) => "the key is retired and still vouches for what it signed".into(),
            ("revoked", _) => "the key is revoked: its signatures can be checked but not trusted".into(),
            ("compromised", _) => {
                "the key is compromised: others may sign with it, so no time in the receipt can be believed"
                    .into()
            }
            _ => "the key states no lifecycle".into(),
        };
        match self.lifecycle.as_ref().and_then(|lifecycle| lifecycle.reason.as_ref()) {
            Some(reason) => format!("{base}: {reason}").into(),
            None => base,
        }
    }
}

/// Why a key document yields no key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeysetError {
    /// The document is not an object.
    DocumentNotObject,
    /// The keyset's `canonicalization` is not a string.
    KeysetCanonicalization,
    /// An entry is not an object.
    KeyNotObject,
    /// `contract_version` is not `1`.
    ContractVersion,
    /// `key_id` is not a string of 1 to 128 code units that are not all blank.
    KeyId,
    /// `algorithm` or `use` is another.
    AlgorithmOrUse,
    /// `public_key` is not a public Ed25519 JWK, or holds a private part.
    PublicKey,
    /// `x` is not base64url.
    PublicKeyAlphabet,
    /// `x` is not the canonical spelling of 32 bytes.
    PublicKeyEncoding,
    /// `canonicalization` of the key is not a string.
    KeyCanonicalization,
    /// `lifecycle` is not an object.
    Lifecycle,
    /// `lifecycle` has a member that is not known.
    LifecycleField,
    /// `lifecycle.status` is not a known state.
    LifecycleStatus,
    /// `lifecycle.status_changed_at` is not an instant.
    LifecycleTime,
    /// `lifecycle.reason` is not a string of 1 to 1,000 code units that are not all blank.
    LifecycleReason,
    /// A revoked or compromised key without the time and the reason.
    LifecycleIncomplete(LifecycleStatus),
    /// One public key stands under two ids.
    ReusedPublicKey {
        /// The id it was met under first.
        first: JsonString<'static>,
        /// The id it was met under again.
        second: JsonString<'static>,
    },
    /// The wanted id stands in the document twice.
    DuplicateKeyId(JsonString<'static>),
    /// The wanted id is not in the document.
    Unknown,
}

impl KeysetError {
    /// A stable name for the fault.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::DocumentNotObject => "key_document_not_object",
            Self::KeysetCanonicalization => "keyset_canonicalization_invalid",
            Self::KeyNotObject => "key_not_object",
            Self::ContractVersion => "key_contract_version_invalid",
            Self::KeyId => "key_id_invalid",
            Self::AlgorithmOrUse => "key_algorithm_invalid",
            Self::PublicKey => "key_jwk_invalid",
            Self::PublicKeyAlphabet => "key_x_not_base64url",
            Self::PublicKeyEncoding => "key_x_not_canonical",
            Self::KeyCanonicalization => "key_canonicalization_invalid",
            Self::Lifecycle => "key_lifecycle_invalid",
            Self::LifecycleField => "key_lifecycle_field_unknown",
            Self::LifecycleStatus => "key_lifecycle_status_invalid",
            Self::LifecycleTime => "key_lifecycle_time_invalid",
            Self::LifecycleReason => "key_lifecycle_reason_invalid",
            Self::LifecycleIncomplete(_) => "key_lifecycle_incomplete",
            Self::ReusedPublicKey { .. } => "key_reused",
            Self::DuplicateKeyId(_) => "key_id_duplicate",
            Self::Unknown => "key_unknown",
        }
    }
}

impl fmt::Display for KeysetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DocumentNotObject => f.write_str("the key document is not a JSON object"),
            Self::KeysetCanonicalization => f.write_str("the keyset's canonicalization is not a string"),
            Self::KeyNotObject => f.write_str("a key is not a JSON object"),
            Self::ContractVersion => f.write_str("a key's contract_version is not \"1\""),
            Self::KeyId => write!(f, "a key's key_id is not a string of 1 to {MAX_KEY_ID_LEN} characters"),
            Self::AlgorithmOrUse => f.write_str("a key is not an Ed25519 key for proof_verification"),
            Self::PublicKey => f.write_str("a key's public_key is not a JWK of a public Ed25519 key"),
            Self::PublicKeyAlphabet => f.write_str("a key's x is not unpadded base64url"),
            Self::PublicKeyEncoding => f.write_str("a key's x is not the canonical base64url of 32 bytes"),
            Self::KeyCanonicalization => f.write_str("a key's canonicalization is not a string"),
            Self::Lifecycle => f.write_str("a key's lifecycle is not a JSON object"),
            Self::LifecycleField => f.write_str("a key's lifecycle has a member that is not known"),
            Self::LifecycleStatus => f.write_str("a key's lifecycle status is not a known one"),
            Self::LifecycleTime => f.write_str("a key's status_changed_at is not a valid RFC 3339 instant"),
            Self::LifecycleReason => {
                write!(f, "a key's lifecycle reason is not a text of 1 to {MAX_REASON_LEN} characters")
            }
            Self::LifecycleIncomplete(status) => {
                write!(f, "a {} key must state status_changed_at and reason", status.as_str())
            }
            Self::ReusedPublicKey { first, second } => {
                write!(f, "one public key stands under two ids, {first} and {second}")
            }
            Self::DuplicateKeyId(id) => write!(f, "the key id {id} stands in the document twice"),
            Self::Unknown => f.write_str("the key document does not hold this key id"),
        }
    }
}

impl core::error::Error for KeysetError {}

/// A key document, read once.
///
/// A document with a fault is kept: which fault a lookup meets can depend on the id that is wanted.
#[derive(Clone, Debug, Default)]
pub struct Keyset {
    /// Entries up to the fault, in document order.
    keys: Vec<Key>,
    /// Where each id stands first, and whether it stands again.
    index: BTreeMap<Vec<u8>, Entry>,
    fault: Option<KeysetError>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    first: usize,
    is_repeated: bool,
}

impl Keyset {
    /// Reads a key document: `{"key": K}`, `{"keyset": {"keys": [...]}}`, `{"keys": [...]}` or a bare key.
    ///
    /// Never fails: a fault is what [`lookup`](Self::lookup) then answers.
    ///
    /// Source: receipt verification, section 6.
    #[must_use]
    pub fn from_value(document: &Value<'_>) -> Self {
        let mut keyset = Self::default();
        keyset.fault = keyset.read(document).err();
        keyset
    }

    /// The key of that id.
    ///
    /// # Errors
    ///
    /// [`KeysetError::Unknown`] when the document is sound and has no such key; any other when the document
    /// cannot be used for this id.
    pub fn lookup(&self, key_id: &JsonString<'_>) -> Result<&Key, KeysetError> {
        let entry = self.index.get(key_id.as_wtf8());
        if entry.is_some_and(|entry| entry.is_repeated) {
            return Err(KeysetError::DuplicateKeyId(key_id.to_owned_string()));
        }
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        entry.and_then(|entry| self.keys.get(entry.first)).ok_or(KeysetError::Unknown)
    }

    /// The fault that makes the document unusable whatever id is wanted.
    #[must_use]
    pub fn fault(&self) -> Option<&KeysetError> {
        self.fault.as_ref()
    }

    /// The keys in document order, those before a fault only.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Joins documents that are to be searched together, as one keyset.
    ///
    /// The rules within one document hold across all: the same public key under two ids is a fault. The same
    /// id with the same public key may stand in several documents; the first one wins.
    #[must_use]
    pub fn merge(documents: impl IntoIterator<Item = Self>) -> Self {
        let mut merged = Self::default();
        let mut ids_by_point = BTreeMap::new();
        for document in documents {
            let earlier = merged.keys.len();
            for key in document.keys {
                let known = merged.index.get(key.key_id.as_wtf8()).filter(|entry| entry.first < earlier);
                let known = known.and_then(|entry| merged.keys.get(entry.first));
                if known.is_some_and(|known| known.public_key.as_bytes() == key.public_key.as_bytes()) {
                    continue;
                }
                if let Err(fault) = merged.push(key, &mut ids_by_point) {
                    merged.fault.get_or_insert(fault);
                }
            }
            if let Some(fault) = document.fault {
                merged.fault.get_or_insert(fault);
            }
        }
        merged
    }

    fn read(&mut self, document: &Value<'_>) -> Result<(), KeysetError> {
        let object = document.as_object().ok_or(KeysetError::DocumentNotObject)?;
        let mut ids_by_point = BTreeMap::new();
        if let Some(key) = object.get("key") {
            return self.push(read_key(key, None)?, &mut ids_by_point);
        }
        let container = match object.get("keyset") {
            Some(keyset) => keyset.as_object(),
            None => Some(object),
        };
        let entries = container.and_then(|container| Some((container, container.get("keys")?.as_array()?)));
        let Some((container, entries)) = entries else {
            return self.push(read_key(document, None)?, &mut ids_by_point);
        };
        let inherited = match container.get("canonicalization") {
            Some(Value::String(form)) => Some(Arc::new(form.to_owned_string())),
            None => None,
            Some(_) => return Err(KeysetError::KeysetCanonicalization),
        };
        entries
            .iter()
            .try_for_each(|entry| self.push(read_key(entry, inherited.as_ref())?, &mut ids_by_point))
    }

    fn push(
        &mut self,
        key: Key,
        ids_by_point: &mut BTreeMap<[u8; 32], JsonString<'static>>,
    ) -> Result<(), KeysetError> {
        match ids_by_point.get(key.public_key.as_bytes()) {
            Some(first) if *first != key.key_id => {
                return Err(KeysetError::ReusedPublicKey { first: first.clone(), second: key.key_id });
            }
            _ => ids_by_point.insert(*key.public_key.as_bytes(), key.key_id.clone()),
        };
        self.index
            .entry(key.key_id.as_wtf8().into())
            .and_modify(|entry| entry.is_repeated = true)
            .or_insert(Entry { first: self.keys.len(), is_repeated: false });
        self.keys.push(key);
        Ok(())
    }
}

fn read_key(value: &Value<'_>, inherited: Option<&Arc<JsonString<'static>>>) -> Result<Key, KeysetError> {
    let entry = value.as_object().ok_or(KeysetError::KeyNotObject)?;
    if !is_text(entry, "contract_version", "1") {
        return Err(KeysetError::ContractVersion);
    }
    let key_id = entry.get("key_id").and_then(Value::as_string).filter(|id| is_key_id(id));
    let key_id = key_id.ok_or(KeysetError::KeyId)?.to_owned_string();
    if !is_text(entry, "algorithm", "Ed25519") || !is_text(entry, "use", "proof_verification") {
        return Err(KeysetError::AlgorithmOrUse);
    }
    let jwk = entry.get("public_key").and_then(Value::as_object).filter(|jwk| {
        is_text(jwk, "format", "jwk")
            && is_text(jwk, "kty", "OKP")
            && is_text(jwk, "crv", "Ed25519")
            && !jwk.contains("d")
    });
    let x = base64url::decode(jwk.ok_or(KeysetError::PublicKey)?.get("x")).map_err(|fault| match fault {
        Base64Fault::Alphabet => KeysetError::PublicKeyAlphabet,
        Base64Fault::NotCanonical => KeysetError::PublicKeyEncoding,
    })?;
    let canonicalization = match entry.get("canonicalization") {
        None | Some(Value::Null) => inherited.cloned(),
        Some(Value::String(form)) => Some(Arc::new(form.to_owned_string())),
        Some(_) => return Err(KeysetError::KeyCanonicalization),
    };
    let lifecycle = entry.get("lifecycle").map(read_lifecycle).transpose()?;
    Ok(Key { key_id, public_key: PublicKey::from_bytes(x), canonicalization, lifecycle })
}

fn read_lifecycle(value: &Value<'_>) -> Result<Lifecycle, KeysetError> {
    let lifecycle = value.as_object().ok_or(KeysetError::Lifecycle)?;
    let known = ["status", "status_changed_at", "reason"];
    if lifecycle.iter().any(|(name, _)| !known.iter().any(|known| *name == **known)) {
        return Err(KeysetError::LifecycleField);
    }
    let status = lifecycle.get("status").and_then(Value::as_string).and_then(LifecycleStatus::parse);
    let status = status.ok_or(KeysetError::LifecycleStatus)?;
    let text = |name, accept: fn(&Value<'_>) -> bool, fault| match lifecycle.get(name) {
        None => Ok(None),
        Some(value) if accept(value) => Ok(value.as_string().map(JsonString::to_owned_string)),
        Some(_) => Err(fault),
    };
    let status_changed_at =
        text("status_changed_at", |value| Instant::from_value(value).is_some(), KeysetError::LifecycleTime)?;
    let reason = text(
        "reason",
        |value| {
            value.as_string().is_some_and(|reason| !reason.is_blank() && reason.utf16_len() <= MAX_REASON_LEN)
        },
        KeysetError::LifecycleReason,
    )?;
    let needs_both = matches!(status, LifecycleStatus::Revoked | LifecycleStatus::Compromised);
    if needs_both && (status_changed_at.is_none() || reason.is_none()) {
        return Err(KeysetError::LifecycleIncomplete(status));
    }
    Ok(Lifecycle { status, status_changed_at, reason })
}

/// Whether a string can be a key id: not blank, at most 128 UTF-16 code units.
pub(crate) fn is_key_id(id: &JsonString<'_>) -> bool {
    !id.is_blank() && id.utf16_len() <= MAX_KEY_ID_LEN
}

fn is_text(object: &Object<'_>, name: &str, wanted: &str) -> bool {
    object.get(name).and_then(Value::as_string).is_some_and(|text| *text == *wanted)
}
