//! Generated files, to be written or compared.

use std::collections::BTreeMap;
use std::path::Path;

/// Folders that hold generated files and nothing else.
const OWNED: [&str; 4] = ["audit-sample", "keysets", "receipts", "vectors"];

/// Contents by path below `fixtures/`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    /// Adds a file; two of one name are a mistake of the generator.
    pub(crate) fn add(&mut self, path: &str, content: impl Into<Vec<u8>>) {
        assert!(self.0.insert(path.to_owned(), content.into()).is_none(), "{path} is generated twice");
    }

    /// Writes every file that is not there yet or differs.
    ///
    /// # Errors
    ///
    /// The path and the system's message of the first file that cannot be written.
    pub(crate) fn write(&self, root: &Path) -> Result<String, String> {
        let mut written = 0;
        for (path, content) in &self.0 {
            let target = root.join(path);
            if std::fs::read(&target).is_ok_and(|present| present == *content) {
                continue;
            }
            let folder = target.parent().ok_or_else(|| format!("{path} has no folder"))?;
            std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            std::fs::write(&target, content).map_err(|error| format!("{}: {error}", target.display()))?;
            written += 1;
        }
        let unknown = self.unknown(root)?;
        if !unknown.is_empty() {
            return Err(format!("not generated, remove by hand: {}", unknown.join(", ")));
        }
        Ok(format!("{} fixtures, {written} written", self.0.len()))
    }

    /// Compares every file with the one in the tree.
    ///
    /// # Errors
    ///
    /// The paths that are missing, differ, or are not generated.
    pub(crate) fn check(&self, root: &Path) -> Result<String, String> {
        let mut faults = Vec::new();
        for (path, content) in &self.0 {
            match std::fs::read(root.join(path)) {
                Ok(present) if present == *content => {}
                Ok(_) => faults.push(format!("{path} differs")),
                Err(error) => faults.push(format!("{path}: {error}")),
            }
        }
        faults.extend(self.unknown(root)?.into_iter().map(|path| format!("{path} is not generated")));
        if faults.is_empty() {
            Ok(format!("{} fixtures are as generated", self.0.len()))
        } else {
            Err(faults.join("\n"))
        }
    }

    fn unknown(&self, root: &Path) -> Result<Vec<String>, String> {
        let mut unknown = Vec::new();
        for folder in OWNED {
            let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
            for entry in entries {
                let entry = entry.map_err(|error| format!("{folder}: {error}"))?;
                let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
                if !self.0.contains_key(&path) {
                    unknown.push(path);
                }
            }
        }
        unknown.sort();
        Ok(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_names_what_is_missing_or_differs() {
        let root = std::env::temp_dir().join(format!("xtask-files-{}", std::process::id()));
        let mut files = Files::default();
        files.add("keysets/a.json", "{}\n");
        assert!(files.check(&root).is_err_and(|fault| fault.contains("keysets/a.json")));
        files.write(&root).expect("a writable folder");
        files.check(&root).expect("just written");
        std::fs::write(root.join("keysets/a.json"), "{ }\n").expect("writable");
        assert!(files.check(&root).is_err_and(|fault| fault == "keysets/a.json differs"));
        std::fs::write(root.join("keysets/b.json"), "").expect("writable");
        assert!(files.write(&root).is_err_and(|fault| fault.contains("keysets/b.json")));
        std::fs::remove_dir_all(&root).expect("removable");
    }
}
