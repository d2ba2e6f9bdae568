//! The log of proofs: a line a claim, with the hash of all that its proof depends on.

use super::claim::{Claim, How};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A line.
#[derive(Clone, Debug)]
pub struct Line {
    pub hash: String,
    /// `proven`, `exhaustive` or `evidence`; anything else is none.
    pub result: String,
    /// The solver with its version, or what else.
    pub by: String,
    pub seconds: String,
}

impl Line {
    /// Whether it is a reason to believe the claim.
    pub fn proves(&self, claim: &Claim) -> bool {
        self.hash == claim.hash() && ["proven", "exhaustive", "evidence"].contains(&self.result.as_str())
    }
}

const HEAD: &str = "\
# Why every rewrite of scalars and indices is right: written by `cargo xtask prove`, compared by `cargo test -p arraygpu-suite --test proofs`.
# proven: no operands at all satisfy the negation, said the solver. exhaustive: tried with all operands. evidence: no solver decides it; what speaks for it.
# claim, type or case | hash of the claim and its encoding | result | by | seconds | where | what
";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/proofs/log.txt")
}

/// The committed log, by claim.
pub fn read() -> BTreeMap<String, Line> {
    let text = std::fs::read_to_string(path()).unwrap_or_default();
    let lines = text.lines().filter(|l| !l.starts_with('#'));
    let fields = lines.map(|l| l.split(" | ").map(|f| f.trim().to_string()).collect::<Vec<_>>());
    let known = fields.filter_map(|f| match &f[..] {
        [key, hash, result, by, seconds, ..] => {
            let [hash, result, by, seconds] = [hash, result, by, seconds].map(String::clone);
            Some((key.clone(), Line { hash, result, by, seconds }))
        }
        _ => None,
    });
    known.collect()
}

/// Writes the log.
pub fn write(claims: &[Claim], lines: &BTreeMap<String, Line>) {
    let mut text = HEAD.to_string();
    for claim in claims {
        let (key, says) = (claim.key(), claim.says.replace('\n', " "));
        if let Some(Line { hash, result, by, seconds }) = lines.get(&key) {
            let why = match claim.how {
                How::Evidence(why) => format!(" | {why}"),
                _ => String::new(),
            };
            let place = claim.place;
            text += &format!(
                "{key:<44} | {hash} | {result:<10} | {by:<16} | {seconds:>7} | {place} | {says}{why}\n"
            );
        }
    }
    std::fs::write(path(), text).expect("the log can be written");
}
