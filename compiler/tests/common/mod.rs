//! What the compiler's tests share.

pub mod operators;
pub mod rng;
pub mod semantics;
pub mod values;

/// One part of a list that takes long, another one each day; all of it where `ARRAYGPU_LONG=1` asks for it.
#[allow(dead_code, reason = "some tests run all")]
pub fn share_of_today<T>(list: Vec<T>, parts: usize) -> Vec<T> {
    if std::env::var_os("ARRAYGPU_LONG").is_some_and(|v| v == "1") {
        return list;
    }
    let day = std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_secs() / 86_400) as usize;
    list.into_iter().enumerate().filter(|(i, _)| i % parts == day % parts).map(|(_, x)| x).collect()
}
