//! Which cells there must be.

use super::{Cell, Place};
use crate::count::{makers, readers};
use crate::generate::{is_binary_of_users, is_unary_of_users};
use arraygpu_compiler::core::MAX_RANK;
use arraygpu_compiler::scalar::{BinaryOp, Ty, UnaryOp};

/// Every reader with arrays of every type that it takes: outside of closures, and inside of an
/// element where the reader depends on one.
pub(super) fn arrays() -> Vec<(Cell, Vec<Place>)> {
    let mut out = Vec::new();
    for maker in makers() {
        for reader in readers().chain(["result"]) {
            for ty in Ty::ALL.into_iter().filter(|ty| fits(maker, reader, *ty)) {
                out.push(((format!("{maker} {ty}"), reader.to_string()), places(maker, reader)));
            }
        }
    }
    out
}

/// Arrays of every rank that every reader takes.
pub(super) fn ranks() -> Vec<(Cell, Vec<Place>)> {
    let mut out = Vec::new();
    for maker in makers() {
        for reader in readers().chain(["result"]) {
            for rank in (1..=MAX_RANK).filter(|r| is_made(maker, *r) && is_read(reader, *r)) {
                let cell = (format!("{maker} {rank}"), reader.to_string());
                out.push((cell, places_of_ranks(maker, reader)));
            }
        }
    }
    out
}

/// Whether the operation makes arrays of that rank.
fn is_made(maker: &str, rank: usize) -> bool {
    match maker {
        "iota" | "fill" => rank == 1,
        "permute" | "spread" => rank > 1,
        "pick" => rank < MAX_RANK,
        "scan" | "argsort" => rank == 1,
        _ => true,
    }
}

/// Whether the operation reads arrays of that rank.
fn is_read(reader: &str, rank: usize) -> bool {
    match reader {
        "permute" | "pick" => rank > 1,
        "spread" => rank < MAX_RANK,
        "scan" | "argsort" => rank == 1,
        _ => true,
    }
}

/// Readers that give elements stand inside closures, too; two deep where nothing is stored before.
/// Parts of an array depend on a closure only if the array does: bounds are host scalars.
fn places_of_ranks(maker: &str, reader: &str) -> Vec<Place> {
    let is_element = ["map", "generate"].contains(&maker);
    let is_stored = ["spread", "materialize", "iterate", "scan", "argsort"].contains(&maker);
    match reader {
        "elem" => vec![Place::Element],
        "at" | "map" | "reduce" | "fold" if is_element => vec![Place::Closed, Place::Element, Place::Nested],
        "at" if maker == "param" => vec![Place::Closed, Place::Element, Place::Nested],
        "slice" | "reverse" if is_element => vec![Place::Closed, Place::Element],
        "dot" | "panel_dot" if !is_stored => vec![Place::Closed, Place::Element],
        // of floats only, and so of a seventh of all arrays
        "squared_deviations" if ["iota", "argsort"].contains(&maker) => Vec::new(),
        "squared_deviations" if is_element => vec![Place::Closed, Place::Element],
        "at" | "map" | "pick" | "reduce" | "fold" => vec![Place::Closed, Place::Element],
        _ => vec![Place::Closed],
    }
}

fn fits(maker: &str, reader: &str, ty: Ty) -> bool {
    let no_vectors = ["permute", "pick"].contains(&reader)
        && ["iota", "fill", "scan", "argsort"].contains(&maker)
        || ["scan", "argsort"].contains(&reader) && ["permute", "spread"].contains(&maker);
    let product = ["dot", "panel_dot"].contains(&reader) && (ty == Ty::Bool || ty.is_half());
    let no_moments = reader == "squared_deviations" && !matches!(ty, Ty::F32 | Ty::F64);
    // `iota` and `argsort` are of i64; `elem` needs an extent that an index runs over
    !no_vectors && !product && !no_moments && (!["iota", "argsort"].contains(&maker) || ty == Ty::I64)
}

fn places(maker: &str, reader: &str) -> Vec<Place> {
    match (maker, reader) {
        (_, "elem") => vec![Place::Element],
        ("param", "at") => vec![Place::Closed, Place::Element, Place::Nested, Place::Operator, Place::Step],
        // stored, repeated and picked arrays are rarely made inside of an element
        ("spread" | "pick" | "materialize" | "iterate" | "scan" | "argsort", "at") => {
            vec![Place::Closed, Place::Element]
        }
        ("spread" | "pick" | "materialize" | "iterate" | "scan" | "argsort", _) => vec![Place::Closed],
        (_, "at" | "map" | "reduce" | "fold") => vec![Place::Closed, Place::Element, Place::Step],
        (_, "dot" | "panel_dot" | "squared_deviations") => vec![Place::Closed, Place::Element],
        _ => vec![Place::Closed],
    }
}

/// Operators of every type that they take: outside of closures, in elements, in the functions of
/// reductions; elementary functions anywhere.
pub(super) fn scalars() -> Vec<(Cell, Vec<Place>)> {
    let unary = UnaryOp::ALL.iter().filter(|o| is_unary_of_users(**o));
    let unary = unary.map(|o| (o.name(), o.is_elementary(), Ty::ALL.map(|ty| o.accepts(ty))));
    let binary = BinaryOp::ALL.iter().filter(|o| is_binary_of_users(**o));
    let binary = binary.map(|o| (o.name(), o.is_elementary(), Ty::ALL.map(|ty| o.accepts(ty))));
    let others = [
        ("mul_add", false, Ty::ALL.map(|ty| ty != Ty::Bool)),
        ("select", false, Ty::ALL.map(|_| true)),
        ("cast", false, Ty::ALL.map(|_| true)),
    ];
    let mut out = Vec::new();
    for (name, elementary, accepts) in unary.chain(binary).chain(others) {
        for (ty, _) in Ty::ALL.into_iter().zip(accepts).filter(|a| a.1) {
            let places = match elementary {
                true => vec![Place::Element],
                false => vec![Place::Closed, Place::Element, Place::Operator],
            };
            out.push(((name.into(), ty.name().into()), places));
        }
    }
    out
}

/// Casts from every type to every type.
pub(super) fn casts() -> Vec<(Cell, Vec<Place>)> {
    let pairs = Ty::ALL.into_iter().flat_map(|a| Ty::ALL.map(|b| (a, b)));
    pairs.map(|(a, b)| ((a.to_string(), b.to_string()), vec![Place::Element])).collect()
}
