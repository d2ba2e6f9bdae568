//! Checks of plans that need the code of their kernels.

use crate::cpu::Variant;
use crate::error::{MODULE, Result, fail};
use arraygpu_compiler::plan::{Access, Place, Plan, Step};

/// Checks what the parser could not: that all kernels exist, and that each temporary is allocated
/// once, used, and freed once. There are `count` kernels; `has` says whether one has a variant, if there is code for
/// this processor.
pub(super) fn check(
    title: &str,
    plan: &Plan,
    count: usize,
    has: Option<&dyn Fn(u32, Variant) -> bool>,
) -> Result<()> {
    #[derive(Clone, Copy, PartialEq)]
    enum Temp {
        Fresh,
        Alive,
        Freed,
    }
    let mut temps = vec![Temp::Fresh; plan.temps.len()];
    for (at, step) in plan.steps.iter().enumerate() {
        match step {
            Step::Repeat(r) => {
                let number = r.check.map(|c| c.number);
                let has_no_memory = |p: Place| match p {
                    Place::Param(_) => true,
                    Place::Result(_) => false,
                    Place::Temp(t) => temps[t as usize] != Temp::Alive,
                };
                if number.is_some_and(has_no_memory) {
                    fail!(MODULE, "{title}: a check lacks memory for its number");
                }
                for s in &r.states {
                    // These temporaries are names for memory that is allocated elsewhere.
                    for t in [s.current, s.next] {
                        if std::mem::replace(&mut temps[t as usize], Temp::Alive) != Temp::Fresh {
                            fail!(MODULE, "{title}: an iteration gives memory to a temporary that has some");
                        }
                    }
                    let alive = |p: &Place| match p {
                        Place::Temp(t) => temps[*t as usize] == Temp::Alive,
                        _ => true,
                    };
                    let places = [s.from, s.to, Place::Temp(s.spare)];
                    let distinct = s.from != s.to && s.to != places[2] && s.from != places[2];
                    if !places.iter().all(alive) || !distinct || matches!(s.to, Place::Param(_)) {
                        fail!(MODULE, "{title}: an iteration lacks memory for its states");
                    }
                }
            }
            Step::Instead(_) => {}
            Step::Alloc(t) => {
                if std::mem::replace(&mut temps[*t as usize], Temp::Alive) != Temp::Fresh {
                    fail!(MODULE, "{title}: a temporary is allocated twice");
                }
            }
            Step::Free(t) => {
                if std::mem::replace(&mut temps[*t as usize], Temp::Freed) != Temp::Alive {
                    fail!(MODULE, "{title}: a temporary is freed before it is allocated");
                }
            }
            Step::Launch(l) => {
                if l.kernel as usize >= count {
                    fail!(MODULE, "{title}: there is no kernel {}", l.kernel);
                }
                let dead = |p: &Place| matches!(p, Place::Temp(t) if temps[*t as usize] != Temp::Alive);
                if l.arrays.iter().any(|(p, _)| dead(p)) {
                    fail!(MODULE, "{title}: kernel {} uses a temporary that is not allocated", l.name);
                }
                if l.arrays.iter().any(|(p, a)| matches!(p, Place::Param(_)) && *a == Access::Write) {
                    fail!(MODULE, "{title}: kernel {} writes a parameter", l.name);
                }
                if l.slots.iter().any(|p| matches!(p, Place::Param(_))) {
                    fail!(MODULE, "{title}: kernel {} has a parameter as a slot", l.name);
                }
                // a launch that is instead of others runs if there is code for the call
                let is_alternative = at > 0 && matches!(plan.steps[at - 1], Step::Instead(_));
                let Some(has) = has else { continue };
                let has = |variant| has(l.kernel, variant);
                if is_alternative {
                    let any = has(Variant::Contiguous) || has(Variant::InPlace) || has(Variant::Strided);
                    if any && l.finish && !has(Variant::Finish) {
                        fail!(MODULE, "{title}: kernel {} lacks code", l.name);
                    }
                    continue;
                }
                let main = has(Variant::Contiguous) && has(Variant::InPlace) && has(Variant::Strided);
                if (!l.domain.is_empty() && !main) || (l.finish && !has(Variant::Finish)) {
                    fail!(MODULE, "{title}: kernel {} lacks code", l.name);
                }
            }
        }
    }
    Ok(())
}
