//! Counting tests in what cargo, ctest and our own programs print.

/// How many tests passed and failed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Passed.
    pub passed: u64,
    /// Failed.
    pub failed: u64,
}

impl Counts {
    /// Adds what a line says, if it is a closing line: of `cargo test`, of `ctest`, or `12 passed,
    /// 0 failed`.
    pub fn line(&mut self, line: &str) {
        if let Some(rest) = line.trim().strip_prefix("test result: ") {
            // "ok. 12 passed; 0 failed; 1 ignored; ..."
            self.passed += before(rest, " passed");
            self.failed += before(rest, " failed");
        } else if let Some((head, total)) = line.split_once(" tests failed out of ") {
            // "100% tests passed, 0 tests failed out of 7"
            let failed = before_end(head);
            self.failed += failed;
            self.passed += total.trim().parse::<u64>().unwrap_or(0).saturating_sub(failed);
        } else if let Some((passed, failed)) = line.trim().split_once(" passed, ") {
            let failed = failed.strip_suffix(" failed").and_then(|n| n.parse::<u64>().ok());
            if let (Ok(passed), Some(failed)) = (passed.parse::<u64>(), failed) {
                self.add(Counts { passed, failed });
            }
        }
    }

    /// Adds other counts to these.
    pub fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// The number right before the first `word`.
fn before(text: &str, word: &str) -> u64 {
    text.split_once(word).map_or(0, |(head, _)| before_end(head))
}

fn before_end(head: &str) -> u64 {
    head.rsplit([' ', ',']).next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn closing_lines() {
        let mut c = Counts::default();
        c.line(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        );
        c.line("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out");
        c.line("100% tests passed, 0 tests failed out of 7");
        c.line("50% tests passed, 1 tests failed out of 2");
        c.line("test something ... ok");
        c.line("400 passed, 5 failed");
        c.line("400 passed, but some failed");
        assert_eq!(c, Counts { passed: 12 + 3 + 7 + 1 + 400, failed: 3 + 5 });
    }
}
