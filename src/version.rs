//! The protocol revisions this server speaks and what a client of each one understands.

/// A protocol revision, oldest first.
///
/// Source: MCP protocol notes, section "Two eras".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Version {
    /// A draft that the reference server still echoes.
    V2024_10_07,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    /// The first revision without a handshake: each request names its version.
    V2026_07_28,
}

impl Version {
    /// What `initialize` offers a client that asks for a version nobody here speaks.
    pub(crate) const NEWEST_LEGACY: Self = Self::V2025_11_25;

    const ALL: [Self; 6] = [
        Self::V2024_10_07,
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_10_07 => "2024-10-07",
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == text)
    }

    /// The version `initialize` settles on when the client asks for `requested`.
    pub(crate) fn negotiate(requested: &str) -> Self {
        match Self::parse(requested) {
            Some(version) if !version.is_modern() => version,
            _ => Self::NEWEST_LEGACY,
        }
    }

    /// Results carry `resultType` and name the server; there is no handshake and no `ping`.
    pub(crate) fn is_modern(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Tools may carry `annotations`.
    pub(crate) fn knows_annotations(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Tools may carry `title` and `outputSchema`, results `structuredContent`.
    pub(crate) fn knows_structured_content(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// One line may hold an array of messages; 2025-06-18 took that out again.
    pub(crate) fn knows_batches(self) -> bool {
        self <= Self::V2025_03_26
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initialize_echoes_legacy_versions_and_offers_the_newest_for_the_rest() {
        for version in ["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            assert_eq!(Version::negotiate(version).as_str(), version);
        }
        for other in ["2026-07-28", "2099-01-01", "1", "", "2025-11-25 "] {
            assert_eq!(Version::negotiate(other), Version::V2025_11_25, "{other:?}");
        }
    }
}
