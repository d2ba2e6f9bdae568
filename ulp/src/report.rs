//! Prints the results as text and as rows of JSON.

use crate::format::Format;
use crate::monotone::Breaks;
use crate::search::{Subject, Worst};

pub struct Result<'a> {
    pub subject: &'a Subject,
    pub worst: Worst,
    /// Number of inputs that were measured, without special values and neighbourhoods.
    pub inputs: u64,
    pub breaks: Option<Breaks>,
}

impl Result<'_> {
    pub fn text(&self) -> String {
        let (f, name) = (self.subject.format, self.subject.function.name);
        let Worst { ulps, x, y } = self.worst;
        let at = |bits: u64| format!("{:e} (0x{bits:x})", f.value(bits));
        let place = if self.subject.function.two { format!("{}, {}", at(x), at(y)) } else { at(x) };
        let (ours, exact) = (self.subject.ours(x, y), self.subject.exact(x, y).to_f64());
        let mut text = format!("{name:8} {} {ulps:.4} ulp at {place}: {ours:e}, exactly {exact:e}", f.name());
        if !self.subject.judges_all() {
            text += "\n         where it equals glibc's it was not looked at: those are within glibc's bound";
        }
        if self.subject.misjudged() > 0 {
            text += &format!(
                "\n         {} times MPFR did not agree with the quick judge",
                self.subject.misjudged()
            );
        }
        if let Some(b) = self.breaks {
            text += &match b.count {
                0 => format!("\n         monotone: {} pairs of neighbours", b.pairs),
                n => format!("\n         NOT monotone: {n} of {} pairs, one at {}", b.pairs, at(b.at)),
            };
        }
        text
    }

    pub fn row(&self) -> String {
        let s = self.subject;
        let Worst { ulps, x, y } = self.worst;
        let single = s.format == Format::Single;
        let shown = |v: f64| if single { format!("{:e}", v as f32) } else { format!("{v:e}") };
        let mut place = format!("\"x\":\"{}\",\"x_bits\":\"0x{x:x}\"", shown(s.format.value(x)));
        if s.function.two {
            place += &format!(",\"y\":\"{}\",\"y_bits\":\"0x{y:x}\"", shown(s.format.value(y)));
        }
        let monotone = match self.breaks {
            None => "null".into(),
            Some(b) => (b.count == 0).to_string(),
        };
        let judge = match s.judges_all() {
            true => "all",
            false => "where glibc differs",
        };
        // JSON has no infinity.
        let ulps = if ulps.is_finite() { format!("{ulps:.4}") } else { "1e999".into() };
        format!(
            "{{\"name\":\"ulp\",\"function\":\"{}\",\"type\":\"{}\",\"ulps\":{ulps},{place},\"inputs\":{},\"judged\":\"{judge}\",\
             \"misjudged\":{},\"monotone\":{monotone}}}",
            s.function.name,
            s.format.name(),
            self.inputs,
            s.misjudged(),
        )
    }
}
