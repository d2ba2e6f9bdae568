//! Tuning files: which variant of a kernel was measured to be the fastest, for a device and for classes of sizes.
//! `docs/tuning.md` is for their users. A variant that a file names runs only where its guards hold, so a file
//! changes no bit of any result.
//!
//! ```text
//! arraygpu tuning 1
//! device NVIDIA H200
//! package stats 8f1c2d3e4a5b6978
//! rmse_0 over 2^26 runs rmse_0_any        # 101.2 us a call, 120.3 by rmse_0_aligned
//! sums_0 over 2^10 of 2^20 runs sums_0_clusters
//! chain_0 over any runs others
//! ```
//!
//! A file consists of sections, each of which begins with its first line again, so that files may be joined one after
//! another.

mod sizes;
#[cfg(test)]
mod tests;

use super::policy::Space;
use crate::error::{Error, Result};
pub use sizes::SizeClass;
use std::fmt::{self, Display, Formatter};

/// The first line of a section: the version of the format.
const HEAD: &str = "arraygpu tuning 1";
/// The maximum number of lines of a section.
const MAX_LINES: usize = 1 << 16;

/// What was measured on one device for one package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// The device's name, as its driver reports it.
    pub device: String,
    /// The package's name.
    pub package: String,
    /// The key that [`key`] returns for the package.
    pub key: String,
    /// The choices.
    pub lines: Vec<Line>,
}

/// A choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The kernel's name.
    pub kernel: String,
    /// The launches to which it applies; `None` stands for all.
    pub sizes: Option<SizeClass>,
    /// What runs.
    pub runs: Runs,
    /// The text of the comment, after its sign.
    pub note: String,
}

/// What runs in place of the launch policy's choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Runs {
    /// The variant with this entry.
    Variant(String),
    /// Not this kernel, but the launches that it may replace (`Step::Instead`).
    Others,
}

/// The choices of a section for one kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choices(Vec<(Option<SizeClass>, Choice)>);

/// What a launch runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The first of these variants that can: all that have the entry.
    Variants(Vec<usize>),
    /// The launches that the kernel may replace.
    Others,
}

impl Choices {
    /// Whether there are no choices for the kernel.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what was measured for an index space: the choice for its sizes, or else the choice for all sizes.
    pub fn of(&self, space: &Space) -> Option<&Choice> {
        let fits = |sizes: &Option<SizeClass>| sizes.as_ref().is_none_or(|class| class.has(space));
        self.0.iter().find(|(sizes, _)| fits(sizes)).map(|(_, choice)| choice)
    }
}

impl Choice {
    /// Returns the preferred variants.
    pub fn variants(&self) -> &[usize] {
        match self {
            Choice::Variants(list) => list,
            Choice::Others => &[],
        }
    }
}

/// Returns the key of a package: 16 digits that change if its plans or its kernels' variants change. It depends on no
/// device and no driver.
pub fn key(plans: &str, gpu: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in [plans, gpu] {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_string()
}

impl Section {
    /// Returns the choices of each kernel, given the kernels' names and the entries of their variants.
    pub fn choices<'k>(
        &self,
        kernels: impl Iterator<Item = (&'k str, Vec<&'k str>)> + Clone,
    ) -> Result<Vec<Choices>> {
        let mut all = vec![Choices::default(); kernels.clone().count()];
        for line in &self.lines {
            let Some((number, (_, entries))) = kernels.clone().enumerate().find(|(_, k)| k.0 == line.kernel)
            else {
                return Err(wrong(format!("there is no kernel {}", line.kernel)));
            };
            let choice = match &line.runs {
                Runs::Others => Choice::Others,
                Runs::Variant(entry) => {
                    let all: Vec<usize> = (0..entries.len()).filter(|at| entries[*at] == entry).collect();
                    if all.is_empty() {
                        return Err(wrong(format!("{} has no variant {entry}", line.kernel)));
                    }
                    Choice::Variants(all)
                }
            };
            all[number].0.push((line.sizes.clone(), choice));
        }
        // a choice for some sizes comes before the choice for all
        all.iter_mut().for_each(|c| c.0.sort_by_key(|(sizes, _)| sizes.is_none()));
        Ok(all)
    }

    /// Whether the sections are about the same device and package.
    pub fn is_like(&self, other: &Section) -> bool {
        (&self.device, &self.package, &self.key) == (&other.device, &other.package, &other.key)
    }

    /// Adds lines, which replace those for the same kernel and sizes.
    pub fn replace(&mut self, lines: Vec<Line>) {
        let same = |a: &Line, b: &Line| (&a.kernel, &a.sizes) == (&b.kernel, &b.sizes);
        self.lines.retain(|old| !lines.iter().any(|new| same(old, new)));
        self.lines.extend(lines);
        self.lines.sort_by(|a, b| (&a.kernel, &a.sizes).cmp(&(&b.kernel, &b.sizes)));
    }
}

impl Display for Section {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}\ndevice {}\npackage {} {}", self.device, self.package, self.key)?;
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} over ", self.kernel)?;
        match &self.sizes {
            Some(class) => write!(f, "{class}")?,
            None => write!(f, "any")?,
        }
        match &self.runs {
            Runs::Variant(entry) => write!(f, " runs {entry}")?,
            Runs::Others => write!(f, " runs others")?,
        }
        if self.note.is_empty() { Ok(()) } else { write!(f, "    # {}", self.note) }
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::user("E0114", message)
}

/// Reads the sections of a file, which may be damaged.
pub fn parse(text: &str) -> Result<Vec<Section>> {
    let mut sections: Vec<Section> = Vec::new();
    for (number, whole) in (1..).zip(text.lines()) {
        let bad = |what: &str| wrong(format!("line {number}: {what}"));
        let (line, note) = whole.split_once('#').unwrap_or((whole, ""));
        let (line, note) = (line.trim(), note.trim());
        if line.is_empty() {
            continue;
        }
        if line == HEAD {
            if sections.last().is_some_and(|before| before.package.is_empty()) {
                return Err(bad("the section before has no device or no package"));
            }
            let [device, package, key] = [(); 3].map(|()| String::new());
            sections.push(Section { device, package, key, lines: Vec::new() });
            continue;
        }
        if line.starts_with("arraygpu tuning") {
            return Err(bad(&format!("another version of the format; `{HEAD}` is expected")));
        }
        let Some(section) = sections.last_mut() else {
            return Err(bad(&format!("no tuning file; `{HEAD}` is its first line")));
        };
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if section.device.is_empty() {
            if word != "device" || rest.is_empty() {
                return Err(bad("expected `device NAME`"));
            }
            // a name may contain any character
            section.device = whole.trim()["device".len()..].trim().into();
        } else if section.package.is_empty() {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["package", name, key] => (section.package, section.key) = (name.into(), key.into()),
                _ => return Err(bad("expected `package NAME KEY`")),
            }
        } else if section.lines.len() >= MAX_LINES {
            return Err(bad(&format!("more than {MAX_LINES} choices")));
        } else {
            section.lines.push(choice(line, note).map_err(|what| bad(&what))?);
        }
    }
    match sections.last() {
        None => Err(wrong(format!("no tuning file; `{HEAD}` is its first line"))),
        Some(last) if last.package.is_empty() => Err(wrong("the file ends before the device or the package")),
        Some(_) => Ok(sections),
    }
}

/// Reads `KERNEL over SIZES runs VARIANT`.
fn choice(line: &str, note: &str) -> std::result::Result<Line, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (["over", sizes @ .., "runs", variant], kernel) = (words.get(1..).unwrap_or_default(), words[0])
    else {
        return Err("expected `KERNEL over SIZES runs VARIANT`".into());
    };
    let sizes = match sizes {
        ["any"] => None,
        [extents] => Some(SizeClass::read(extents, None)?),
        [extents, "of", inner] => Some(SizeClass::read(extents, Some(inner))?),
        _ => return Err("expected sizes such as 2^20, 2^10x2^12, 2^10 of 2^20, or any".into()),
    };
    let runs = if *variant == "others" { Runs::Others } else { Runs::Variant((*variant).into()) };
    Ok(Line { kernel: kernel.into(), sizes, runs, note: note.into() })
}
