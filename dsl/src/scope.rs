//! Scopes: which closure, or which function, a value belongs to.
//!
//! The variables of a closure (`x.map(|a| ..)`) mean something inside that closure only, and the
//! parameters of a function inside that function. Handles are `Copy` and lifetime-free, so Rust
//! does not stop an author from carrying one out; every node therefore keeps the *set* of scopes it
//! depends on, and whoever uses it checks that all of them are open. (The innermost scope alone
//! would not do: a value of an inner closure that does not mention the outer one may leave the
//! outer one.)

use std::cell::{Cell, RefCell};
use std::panic::Location;
use typed_arena::Arena;

/// A place in the author's program.
pub type Place = &'static Location<'static>;

/// What a scope belongs to.
#[derive(Debug)]
pub enum Owner {
    /// The closure given to a combinator, by the combinator's name.
    Closure(&'static str),
    /// An exported function, by its name.
    Function(String),
}

/// A scope.
#[derive(Debug)]
pub struct Scope {
    id: u64,
    owner: Owner,
    at: Place,
}

/// A reference to a scope, which is never freed.
pub type ScopeRef = &'static Scope;

thread_local! {
    static SCOPES: &'static Arena<Scope> = Box::leak(Box::default());
    static SETS: &'static Arena<ScopeRef> = Box::leak(Box::default());
    static OPEN: RefCell<Vec<ScopeRef>> = const { RefCell::new(Vec::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// A number above all earlier ones of this thread: it gives the order of the author's program.
pub(crate) fn next_number() -> u64 {
    NEXT.with(|n| n.replace(n.get() + 1))
}

/// The place that opened the innermost scope. It is named where the author's own line is unknown.
pub(crate) fn innermost_place() -> Option<Place> {
    OPEN.with(|o| o.borrow().last().map(|s| s.at))
}

/// The author's line for a call. A method that is passed as a function, as in
/// `m.map_rows(VExp::max)`, is called by the standard library or by this crate; the author's line
/// is then that of the construct around it.
pub(crate) fn authors_place(at: Place) -> Place {
    let ours = file!().trim_end_matches("scope.rs");
    let foreign = ["/rustc/", "/rustlib/src/"].iter().any(|of| at.file().contains(of));
    let by_author = !foreign && !at.file().starts_with(ours);
    if by_author { at } else { innermost_place().unwrap_or(at) }
}

/// An open scope; closed when dropped, also when the author's closure panics.
pub struct Open(pub ScopeRef);

impl Open {
    /// Opens a scope.
    pub(crate) fn new(owner: Owner, at: Place) -> Open {
        let scope = Scope { id: next_number(), owner, at: authors_place(at) };
        let scope: ScopeRef = SCOPES.with(|a| &*a.alloc(scope));
        OPEN.with(|o| o.borrow_mut().push(scope));
        Open(scope)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        OPEN.with(|o| o.borrow_mut().retain(|s| s.id != self.0.id));
    }
}

/// A set of scopes, ascending by number. Nodes with equal sets share one where that is cheap to
/// see.
#[derive(Clone, Copy, Debug)]
pub struct ScopeSet(&'static [ScopeRef]);

impl ScopeSet {
    /// The scopes of a constant: none.
    pub const EMPTY: ScopeSet = ScopeSet(&[]);

    fn made(scopes: impl IntoIterator<Item = ScopeRef>) -> ScopeSet {
        ScopeSet(SETS.with(|a| &*a.alloc_extend(scopes)))
    }

    /// The set of one scope.
    pub(crate) fn one(scope: ScopeRef) -> ScopeSet {
        ScopeSet::made([scope])
    }

    fn contains(self, scope: ScopeRef) -> bool {
        self.0.binary_search_by_key(&scope.id, |s| s.id).is_ok()
    }

    fn covers(self, other: ScopeSet) -> bool {
        other.0.iter().all(|s| self.contains(s))
    }

    /// The scopes that are in either set.
    pub(crate) fn union(self, other: ScopeSet) -> ScopeSet {
        if self.covers(other) {
            return self;
        }
        if other.covers(self) {
            return other;
        }
        let mut all: Vec<ScopeRef> = self.0.iter().chain(other.0).copied().collect();
        all.sort_unstable_by_key(|s| s.id);
        all.dedup_by_key(|s| s.id);
        ScopeSet::made(all)
    }

    /// The set without a scope.
    pub(crate) fn without(self, scope: ScopeRef) -> ScopeSet {
        if !self.contains(scope) {
            return self;
        }
        ScopeSet::made(self.0.iter().copied().filter(|s| s.id != scope.id))
    }

    /// Whether all of them were opened before the given one.
    pub(crate) fn is_before(self, scope: ScopeRef) -> bool {
        self.0.iter().all(|s| s.id < scope.id)
    }

    /// Panics, naming both places, if a value made at `made` that depends on these scopes is used
    /// at `used` while one of them is closed.
    pub(crate) fn check_open(self, made: Place, used: Place) {
        let closed = OPEN.with(|o| {
            let open = o.borrow();
            self.0.iter().copied().find(|s| !open.iter().any(|p| p.id == s.id))
        });
        if let Some(scope) = closed {
            panic!("{}", escape_message(scope, made, used));
        }
    }
}

fn escape_message(scope: ScopeRef, made: Place, used: Place) -> String {
    let at = scope.at;
    match &scope.owner {
        Owner::Closure(combinator) => format!(
            "arraygpu: the value made at {made} is used at {used}, outside the closure of `{combinator}` at {at} that its variable \
             belongs to. Use it inside that closure, or return it from the closure."
        ),
        Owner::Function(name) => format!(
            "arraygpu: the value made at {made} is used at {used}, outside the function `{name}` (registered at {at}) that it \
             belongs to. Handles cannot be carried from one function to another: build the value again from this function's parameters."
        ),
    }
}
