//! Prints the figures of programs: all, or those whose name contains the argument. `--write FILE`
//! writes the table instead.

use arraygpu_programs::{corpus, table};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let corpus = corpus();
    if let [option, file] = &args[..] {
        return match option == "--write" && std::fs::write(file, table::text(&corpus)).is_ok() {
            true => ExitCode::SUCCESS,
            false => ExitCode::FAILURE,
        };
    }
    let wanted = args.first().cloned().unwrap_or_default();
    for p in corpus.programs.iter().filter(|p| p.name.contains(&wanted)) {
        let row = table::row(p);
        match &row.figures {
            Err(e) => println!("{}: {e}", p.name),
            Ok(all) => {
                for f in all {
                    println!(
                        "{:26} {:6}  bytes {:.2} ({:.2e}) operations {:.2} ({:.2e}) loads {:.2} ({:.2e}), {} of {} launches, {} temporaries{}",
                        p.name,
                        f.extent,
                        f.traffic(),
                        f.asked.bytes,
                        f.work(),
                        f.asked.operations,
                        f.loads(),
                        f.asked.loads,
                        f.launches,
                        p.fewest,
                        f.temporaries,
                        if row.is_far() { " FAR" } else { "" },
                    );
                }
            }
        }
    }
    ExitCode::SUCCESS
}
