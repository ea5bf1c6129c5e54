//! Canonical bytes in a build where serde_json has odd features.

#[cfg(test)]
mod tests {
    use kaval_receipt::{canonical, json};

    const TEXT: &str = r#"{"z":1.50,"a":[1e-7,-0,9007199254740991,100e-2],"m":{"y":"\u00e9","x":"\ud800"}}"#;
    const CANONICAL: &str = r#"{"a":[1e-7,0,9007199254740991,1],"m":{"x":"\ud800","y":"é"},"z":1.5}"#;

    #[test]
    fn the_features_are_on() {
        let value: serde_json::Value = serde_json::from_str(r#"{"z":1.50,"a":1e400}"#).expect("JSON");
        assert_eq!(value.to_string(), r#"{"z":1.50,"a":1e+400}"#);
    }

    #[test]
    fn canonical_bytes_are_the_same() {
        let value = json::parse(TEXT).expect("strict JSON");
        assert_eq!(canonical::canonical_json(&value).as_deref(), Ok(CANONICAL));
        let error = json::parse(r#"{"a":1e400}"#).expect_err("outside the range");
        assert_eq!(error.code(), "json_number_range");
    }
}
