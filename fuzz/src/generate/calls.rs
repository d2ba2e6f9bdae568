//! Arguments for a program.

use super::Program;
use crate::rng::Rng;
use crate::values;
use arraygpu_compiler::core::interp::{self, Value};

/// Elements of an array that the interpreter has time for.
const MOST: u64 = 1 << 20;

/// One call's arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// They are of the sizes that the program is made for: every shape rule holds.
    pub fits: bool,
    /// The arguments.
    pub args: Vec<Value>,
}

impl Program {
    /// Arguments of the witness's sizes, and now and then of others.
    pub fn calls(&self) -> Vec<Call> {
        let mut rng = Rng::new(self.seed ^ 0x5eed_ca11);
        let mut out = vec![self.call(true, &mut rng)];
        if rng.one_in(3) {
            out.push(self.call(false, &mut rng));
        }
        // a length that wraps around to a few may be a huge one in another call
        out.retain(|c| c.fits || !interp::largest(&self.function, &c.args).is_ok_and(|n| n > MOST));
        out
    }

    fn call(&self, fits: bool, rng: &mut Rng) -> Call {
        // all lengths that are one in the witness stay one
        let (from, to) = (rng.below(5) as i64, rng.below(8) as i64);
        let of = rng.below(self.extents.len());
        let from = self.extents[of].first().copied().unwrap_or(from);
        // what the interpreter does grows by a high power of a length that many extents have
        let to = if from < 3 { to % (from + 2) } else { to };
        let length = |n: i64| if !fits && n == from { to } else { n };
        let params = self.function.params.iter().zip(&self.extents).zip(&self.scalars);
        let args = params.map(|((p, extents), scalar)| match scalar {
            Some(l) if fits || !rng.one_in(2) => Value::Scalar(*l),
            // -1 is no length; of an unsigned type it would be one, of billions
            Some(l) if l.ty.is_signed() => Value::Scalar(values::small(l.ty, rng.between(-1, 6))),
            Some(l) => Value::Scalar(values::small(l.ty, rng.between(0, 6))),
            None => {
                let extents: Vec<i64> = extents.iter().map(|n| length(*n)).collect();
                values::array(p.ty.elem, &extents, rng)
            }
        });
        Call { fits, args: args.collect() }
    }
}
