//! What is claimed of the compiler's rewrites, and why it is believed.

/// A claim, of a type or a case.
pub struct Claim {
    /// What it is called in the log.
    pub name: String,
    /// The type or case.
    pub case: String,
    /// What it says.
    pub says: String,
    /// Where the rewrite is.
    pub place: &'static str,
    /// Why it holds.
    pub how: How,
}

/// Why a claim holds.
pub enum How {
    /// No values satisfy this.
    Solver(String),
    /// It was tried with all operands; `None` is fine, else what is wrong.
    Exhaustive(fn() -> Option<String>),
    /// No solver decides it: what speaks for it.
    Evidence(&'static str),
}

impl Claim {
    pub fn solved(name: &str, case: &str, says: &str, script: String) -> Claim {
        Claim::new(name, case, says, How::Solver(script))
    }

    pub fn new(name: &str, case: &str, says: &str, how: How) -> Claim {
        Claim { name: name.into(), case: case.into(), says: says.into(), place: "", how }
    }

    /// The same, with the place of the rewrite.
    pub fn at(mut self, place: &'static str) -> Claim {
        self.place = place;
        self
    }

    /// What the log knows it by.
    pub fn key(&self) -> String {
        format!("{}, {}", self.name, self.case)
    }

    /// Of all that a proof depends on: another text is another claim.
    pub fn hash(&self) -> String {
        let why = match &self.how {
            How::Solver(script) => script.as_str(),
            How::Exhaustive(_) => "all operands",
            How::Evidence(text) => text,
        };
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for byte in [&self.name, &self.case, &self.says, why].into_iter().flat_map(|s| s.bytes().chain([0])) {
            // FNV-1a
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        format!("{hash:016x}")
    }
}
