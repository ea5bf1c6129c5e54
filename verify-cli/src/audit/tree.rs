//! Walking a folder in the order of path bytes, with little memory per name.

use super::files::words;
use super::limits::{MAX_FOLDER_NAME_BYTES, MAX_TREE_DEPTH};
use super::names::{bytes_of, kind_of, path_of};
use std::fs::{DirEntry, FileType};
use std::io;

/// What a walk comes upon, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A file whose name says that it holds receipts.
    File,
    /// Something that should be readable and is not, and why.
    Fault(String),
}

/// Counts of what a walk passed by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// Files whose names do not say that they hold receipts.
    pub(super) ignored_files: u64,
    /// Links to folders.
    pub(super) links_not_entered: u64,
}

impl Passed {
    /// Adds what another walk passed by.
    pub(super) fn add(&mut self, other: Self) {
        self.ignored_files += other.ignored_files;
        self.links_not_entered += other.links_not_entered;
    }
}

/// The entries of one folder that matter: one buffer of names and an offset each, since a folder can have a
/// million.
#[derive(Debug, Default)]
struct Folder {
    /// Each name, a NUL, and one byte of [`Entry`].
    names: Vec<u8>,
    /// Where each name starts, the next one to visit last.
    offsets: Vec<u32>,
    /// Length of the folder's own path, its slash included.
    prefix: usize,
    /// Why the listing is not complete.
    fault: Option<String>,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Entry {
    Dangling = b'd',
    File = b'f',
    Folder = b'/',
    Looping = b'l',
    Special = b's',
    Unknown = b'u',
}

impl Entry {
    fn fault(self) -> Option<&'static str> {
        match self {
            Self::File | Self::Folder => None,
            Self::Dangling => Some("a link to something that does not exist"),
            Self::Looping => Some("a link that leads back to itself"),
            Self::Special => Some("not a regular file"),
            Self::Unknown => Some("what it is cannot be found out"),
        }
    }
}

/// Walks a folder and everything below it. `visit` gets the path of each thing found.
///
/// Order is that of the bytes of whole paths. Links to folders are not entered.
///
/// # Errors
///
/// Whatever `visit` answers, at once.
pub(super) fn walk<E>(
    root: &[u8],
    mut visit: impl FnMut(&[u8], Found) -> Result<(), E>,
) -> Result<Passed, E> {
    let mut passed = Passed::default();
    let mut path = root.to_vec();
    if !path.ends_with(b"/") {
        path.push(b'/');
    }
    let mut open = vec![list(&path, &mut passed)];
    while let Some(folder) = open.last_mut() {
        path.truncate(folder.prefix);
        let Some(offset) = folder.offsets.pop() else {
            // A listing that broke off is told after what it did list.
            if let Some(fault) = folder.fault.take() {
                let shown = path.strip_suffix(b"/").filter(|path| !path.is_empty());
                visit(shown.unwrap_or(&path), Found::Fault(fault))?;
            }
            open.pop();
            continue;
        };
        let (name, entry) = folder.entry(offset);
        path.extend_from_slice(name);
        match entry {
            Entry::Folder if open.len() >= MAX_TREE_DEPTH => {
                path.pop();
                visit(&path, Found::Fault(format!("more than {MAX_TREE_DEPTH} folders deep")))?;
            }
            Entry::Folder => open.push(list(&path, &mut passed)),
            Entry::File => visit(&path, Found::File)?,
            faulty => {
                let fault = faulty.fault().unwrap_or_default().to_owned();
                visit(&path, Found::Fault(fault))?;
            }
        }
    }
    Ok(passed)
}

/// Lists a folder whose path ends in a slash.
fn list(path: &[u8], passed: &mut Passed) -> Folder {
    let mut folder = Folder { prefix: path.len(), ..Folder::default() };
    match std::fs::read_dir(path_of(path)) {
        Ok(entries) => {
            for entry in entries {
                let added = entry.map_err(|error| words(&error)).and_then(|entry| folder.add(&entry, passed));
                if let Err(fault) = added {
                    folder.fault = Some(fault);
                    break;
                }
            }
        }
        Err(error) => folder.fault = Some(words(&error)),
    }
    let Folder { names, offsets, .. } = &mut folder;
    let name = |&offset: &u32| names.get(offset as usize..).unwrap_or_default();
    // Names in one folder differ, and a NUL is below every byte of a name, so no comparison leaves its names.
    // Folders carry their slash, which puts them where their contents belong.
    offsets.sort_unstable_by(|left, right| name(right).cmp(name(left)));
    folder
}

impl Folder {
    fn add(&mut self, entry: &DirEntry, passed: &mut Passed) -> Result<(), String> {
        let name = entry.file_name();
        let name = bytes_of(&name);
        let kind = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => match std::fs::metadata(entry.path()) {
                Ok(target) if target.is_dir() => {
                    passed.links_not_entered += 1;
                    return Ok(());
                }
                Ok(target) => entry_of(target.file_type()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Entry::Dangling,
                Err(error) if is_link_loop(&error) => Entry::Looping,
                Err(_) => Entry::Unknown,
            },
            Ok(kind) => entry_of(kind),
            Err(_) => Entry::Unknown,
        };
        if kind == Entry::File && kind_of(name).is_none() {
            passed.ignored_files += 1;
            return Ok(());
        }
        if self.names.len() > MAX_FOLDER_NAME_BYTES.saturating_sub(name.len() + 3) {
            return Err(format!("more than {MAX_FOLDER_NAME_BYTES} bytes of names in one folder"));
        }
        self.offsets.push(u32::try_from(self.names.len()).map_err(|error| error.to_string())?);
        self.names.extend_from_slice(name);
        if kind == Entry::Folder {
            self.names.push(b'/');
        }
        self.names.extend_from_slice(&[0, kind as u8]);
        Ok(())
    }

    fn entry(&self, offset: u32) -> (&[u8], Entry) {
        let rest = self.names.get(offset as usize..).unwrap_or_default();
        let end = memchr::memchr(0, rest).unwrap_or(rest.len());
        let tag = rest.get(end + 1).copied().unwrap_or_default();
        let all = [Entry::Dangling, Entry::File, Entry::Folder, Entry::Looping, Entry::Special];
        let entry = all.into_iter().find(|&entry| entry as u8 == tag).unwrap_or(Entry::Unknown);
        (rest.get(..end).unwrap_or_default(), entry)
    }
}

fn entry_of(kind: FileType) -> Entry {
    if kind.is_dir() {
        Entry::Folder
    } else if kind.is_file() {
        Entry::File
    } else {
        Entry::Special
    }
}

/// Whether an error says that links lead in a circle.
fn is_link_loop(error: &io::Error) -> bool {
    // The kind for this is not stable yet; 40 is ELOOP on Linux, 62 on the BSDs and macOS.
    cfg!(unix) && matches!(error.raw_os_error(), Some(40 | 62))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn walked(root: &std::path::Path) -> (Vec<(String, Found)>, Passed) {
        let mut all = Vec::new();
        let root = bytes_of(root.as_os_str());
        let passed = walk::<Infallible>(root, |path, found| {
            let below = path.strip_prefix(root).unwrap_or(path);
            all.push((String::from_utf8_lossy(below).into_owned(), found));
            Ok(())
        });
        (all, passed.expect("infallible"))
    }

    #[test]
    fn order_is_that_of_whole_paths() {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(root.path().join("a/b")).expect("folders");
        for name in ["a.json", "a/b/z.json", "a/b.json", "a-.json", "a0.json", "é.json", "B.json"] {
            fs::write(root.path().join(name), "{}").expect("a file");
        }
        let (found, passed) = walked(root.path());
        let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
        let mut sorted = paths.clone();
        sorted.sort_by(|left, right| left.as_bytes().cmp(right.as_bytes()));
        assert_eq!(paths, sorted);
        assert_eq!(paths.len(), 7);
        assert!(found.iter().all(|(_, found)| *found == Found::File));
        assert_eq!(passed, Passed::default());
    }

    #[test]
    fn what_is_not_a_receipt_is_told_or_counted() {
        let root = tempfile::tempdir().expect("a folder");
        let at = |name: &str| root.path().join(name);
        fs::create_dir(at("real")).expect("a folder");
        fs::write(at("real/one.json"), "{}").expect("a file");
        fs::write(at("notes.txt"), "").expect("a file");
        symlink("real", at("folder.json")).expect("a link");
        symlink("real/one.json", at("linked.json")).expect("a link");
        symlink("nowhere", at("dangling")).expect("a link");
        symlink("loop.json", at("loop.json")).expect("a link");
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
        let (found, passed) = walked(root.path());
        let fault = |entry: Entry| Found::Fault(entry.fault().expect("a fault").to_owned());
        let expected = [
            ("/dangling", fault(Entry::Dangling)),
            ("/linked.json", Found::File),
            ("/loop.json", fault(Entry::Looping)),
            ("/real/one.json", Found::File),
            ("/socket", fault(Entry::Special)),
        ];
        assert_eq!(found, expected.map(|(path, found)| (path.to_owned(), found)));
        assert_eq!(passed, Passed { ignored_files: 1, links_not_entered: 1 });
    }

    #[test]
    fn a_folder_that_cannot_be_listed_is_told() {
        let root = tempfile::tempdir().expect("a folder");
        let (found, _) = walked(&root.path().join("missing"));
        assert_eq!(found, [(String::new(), Found::Fault("no such file or folder".to_owned()))]);
    }
}
