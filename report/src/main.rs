//! Turns the committed rows of `bench/results` into one page, as Markdown and as an HTML file with plots.
//!
//!     cargo xtask report          writes bench/report/speed.md and speed.html

mod block;
mod causes;
mod compare;
mod page;
mod plot;
mod rows;

use std::path::{Path, PathBuf};

const TITLE: &str = "The speed of arraygpu";

/// The page of a repository: Markdown and HTML.
fn pages(root: &Path) -> Result<(String, String), String> {
    let rows = rows::Rows::read(&root.join("bench/results"))?;
    let path = root.join("bench/causes.toml");
    let causes = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let blocks = page::page(&rows, &causes::Causes::read(&causes)?)?;
    Ok((block::markdown(TITLE, &blocks), block::html(TITLE, &blocks)))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn write() -> Result<(), String> {
    let folder = root().join("bench/report");
    let (markdown, html) = pages(&root())?;
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for (name, text) in [("speed.md", markdown), ("speed.html", html)] {
        std::fs::write(folder.join(name), text).map_err(|e| format!("{name}: {e}"))?;
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    match write() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("report: {e}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_page_is_of_the_committed_rows() {
        let (markdown, html) = pages(&root()).unwrap();
        for (name, text) in [("speed.md", markdown), ("speed.html", html)] {
            let committed = std::fs::read_to_string(root().join("bench/report").join(name)).unwrap();
            assert!(
                committed == text,
                "bench/report/{name} is not of the committed rows: run cargo xtask report"
            );
        }
    }
}
