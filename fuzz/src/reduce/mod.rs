//! A failing program made small: parts are taken out as long as it fails in the same way, each time
//! in a process of its own.

mod edits;

use crate::case::Case;
use crate::check::Stage;
use crate::{legal, run};
use std::path::Path;
use std::time::Duration;

/// A candidate that takes longer counts as one without the failure.
const PATIENCE: Duration = Duration::from_secs(20);

/// The text of a small program with the same failure, and what the failure says.
pub fn reduce(stage: Stage, case: Case) -> Result<String, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let file = folder.path().join("candidate.core");
    let Some((class, _)) = failure(stage, &case, &file) else { return Err("it does not fail".into()) };
    let mut best = case;
    // repeat as long as a round makes the program smaller
    loop {
        let before = best.text();
        for edit in edits::ALL {
            let mut at = 0;
            while let Some(candidate) = edit(&best, at) {
                let smaller = candidate.as_ref().filter(|c| size(c) < size(&best) && legal::is_legal(c));
                match smaller.filter(|c| failure(stage, c, &file).is_some_and(|f| f.0 == class)) {
                    Some(c) => best = c.clone(),
                    None => at += 1,
                }
            }
        }
        if best.text() == before {
            break;
        }
    }
    let message = failure(stage, &best, &file).map_or(String::new(), |f| f.1);
    Ok(format!("; {}: {}\n{}", stage.name(), message.lines().next().unwrap_or_default(), best.text()))
}

/// Nodes first, then text.
fn size(case: &Case) -> (usize, usize) {
    let f = &case.function;
    let nodes = |f: &arraygpu_compiler::core::Function| f.graph.reachable(f.roots()).len();
    let all = nodes(f) + f.steps.iter().map(|s| nodes(s)).sum::<usize>();
    (all + f.params.len() + f.requires.len(), case.text().len())
}

/// The class and the message of a case's failure.
fn failure(stage: Stage, case: &Case, file: &Path) -> Option<(String, String)> {
    std::fs::write(file, case.text()).ok()?;
    let name = file.to_str()?;
    let mut child = run::child(&["check", "--stage", stage.name(), name]).ok()?;
    let lines = run::lines_of(&mut child);
    let mut text = Vec::new();
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => text.push(line),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                let _ = child.wait();
                return Some(("hangs".into(), "hangs".into()));
            }
            Err(_) => break,
        }
    }
    let status = child.wait().ok()?;
    let text = text.join("\n");
    match text.strip_prefix("failed\t").and_then(|rest| rest.split_once('\t')) {
        Some((class, message)) => Some((class.into(), message.into())),
        None if text.is_empty() => Some((status.to_string(), format!("the process ends: {status}"))),
        None => None,
    }
}
