//! Proving: scripts to the solvers (`solve.py`), all operands of the others.

use super::claim::{Claim, How};
use super::log::Line;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Seconds that a solver may take for a claim: `PROVE_LIMIT`.
fn limit() -> String {
    std::env::var("PROVE_LIMIT").unwrap_or_else(|_| "600".into())
}

/// The lines of all claims, where `known` has them from before. `keep` gets what is there after each answer.
pub fn prove(
    python: &OsStr,
    claims: &[Claim],
    known: BTreeMap<String, Line>,
    keep: &dyn Fn(&BTreeMap<String, Line>),
) -> BTreeMap<String, Line> {
    let folder = tempfile::tempdir().expect("a folder for scripts");
    let (mut lines, mut asked, mut others) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for claim in claims {
        if let Some(line) = known.get(&claim.key()).filter(|l| l.proves(claim)) {
            lines.insert(claim.key(), line.clone());
            continue;
        }
        match &claim.how {
            How::Solver(script) => {
                let file = format!("{:05}.smt2", asked.len());
                std::fs::write(folder.path().join(&file), script).expect("a script can be written");
                asked.insert(file, claim);
            }
            how => others.push((claim, how)),
        }
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/proofs/solve.py");
    let mut run = Command::new(python);
    run.arg(script).arg(folder.path()).arg(limit()).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = run.spawn().expect("PROVE is a Python that has the solvers");
    let answers = BufReader::new(child.stdout.take().expect("piped"));
    for answer in answers.lines().map_while(Result::ok) {
        let [file, answer, by, seconds] = answer.split('\t').collect::<Vec<_>>()[..] else { continue };
        let Some(claim) = asked.get(file) else { continue };
        let result = match answer {
            "unsat" => "proven",
            "sat" => "WRONG",
            other => other,
        };
        let [result, by, seconds] = [result, by, seconds].map(String::from);
        say(claim, &mut lines, Line { hash: claim.hash(), result, by, seconds });
        keep(&lines);
    }
    assert!(child.wait().is_ok_and(|s| s.success()), "solve.py ran");
    for (claim, how) in others {
        let begin = Instant::now();
        let (result, by) = match how {
            How::Exhaustive(all) => match all() {
                None => ("exhaustive", "all operands"),
                Some(wrong) => {
                    println!("{}: {wrong}", claim.key());
                    ("WRONG", "all operands")
                }
            },
            _ => ("evidence", "see there"),
        };
        let seconds = format!("{:.2}", begin.elapsed().as_secs_f64());
        let line = Line { hash: claim.hash(), result: result.into(), by: by.into(), seconds };
        say(claim, &mut lines, line);
        keep(&lines);
    }
    lines
}

fn say(claim: &Claim, lines: &mut BTreeMap<String, Line>, line: Line) {
    println!("{}: {} ({}, {} s)", claim.key(), line.result, line.by, line.seconds);
    lines.insert(claim.key(), line);
}
