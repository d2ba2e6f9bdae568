//! Programs that went wrong once: each file of `corpus/` through every stage that needs no GPU.

use arraygpu_fuzz::case::Case;
use arraygpu_fuzz::check::{Stage, check};
use arraygpu_fuzz::run::is_of_size;

#[test]
fn what_went_wrong_once() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    let mut failures = Vec::new();
    let mut compared = 0;
    for file in std::fs::read_dir(folder).expect("the folder is there").map(|e| e.expect("a file").path()) {
        let text = std::fs::read_to_string(&file).expect("a text");
        let case = Case::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        assert!(!case.calls.is_empty(), "{} has no call", file.display());
        for stage in Stage::ALL {
            match check(stage, &case) {
                Ok(n) => compared += n,
                // times are of debug builds here
                Err(f) if is_of_size(&f.class) => {}
                Err(f) => failures.push(format!("{}, {}: {}", file.display(), stage.name(), f.message)),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared > 400, "{compared} comparisons");
}
