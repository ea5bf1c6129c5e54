//! The table in `docs/exit-codes.md` is the one the code follows.

use kaval_receipt::Outcome;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[test]
fn the_documented_numbers_are_those_of_the_outcomes() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/exit-codes.md");
    let page = fs::read_to_string(page).expect("docs/exit-codes.md");
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let code = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
        Some((code.to_owned(), cells.next()?.parse::<u8>().ok()?))
    });
    let documented: BTreeMap<String, u8> = rows.collect();
    for outcome in Outcome::ALL {
        assert_eq!(documented.get(outcome.code()), Some(&outcome.exit_code()), "{}", outcome.code());
    }
    for (code, status) in [("usage", 2), ("key_changed", 3), ("unwritable", 2)] {
        assert_eq!(documented.get(code), Some(&status), "{code}");
    }
    assert_eq!(documented.len(), Outcome::ALL.len() + 3, "{documented:?}");
}
