//! Where the length of an array along an axis comes from. Code that needs an array's extents, as nodes, host scalars
//! or numbers, finds them by this.

use super::{NodeId, Op, ScanPart, axis_of_state};

/// The length of an operation's array along an axis.
#[derive(Clone, Copy)]
pub enum Length {
    /// That of another array along an axis.
    Of(NodeId, u8),
    /// A scalar.
    Is(NodeId),
    /// The number of indices `start`, `start + stride` .. below `stop`.
    #[allow(missing_docs)]
    Span { start: NodeId, stop: NodeId, stride: NodeId },
    /// No other length determines it: it is a parameter's own.
    Own,
}

impl Length {
    /// Returns the length of an operation's array along an axis.
    pub fn of(op: &Op, axis: u8) -> Length {
        match op {
            Op::Map(_, srcs) => Length::Of(srcs[0], axis),
            Op::Scan { part: ScanPart::Totals, init: count, .. } => Length::Is(*count),
            Op::Bins { parts, count, .. } => Length::Is(if axis == 0 { *parts } else { *count }),
            Op::Reverse(x, _)
            | Op::Materialize(x)
            | Op::Argsort(x)
            | Op::Scan { src: x, .. }
            | Op::Place { src: x, .. }
            | Op::Put { base: x, .. }
            | Op::DigitEnds { counts: x, .. }
            | Op::ByDigit { src: x, .. } => Length::Of(*x, axis),
            Op::DigitCounts { count, .. } => Length::Is(*count),
            Op::Iterate { which, form, count, args, .. } => {
                let state = axis_of_state(*form, args[*which as usize], axis);
                state.map_or(Length::Is(*count), |(state, axis)| Length::Of(state, axis))
            }
            Op::Generate(extents, _) => Length::Is(extents[axis as usize]),
            Op::Iota(n) | Op::Fill(n, _) => Length::Is(*n),
            Op::Permute(x, axes) => Length::Of(*x, axes[axis as usize]),
            Op::Pick { src, axis: a, .. } => Length::Of(*src, axis + u8::from(axis >= *a)),
            Op::Spread { axis: a, n, .. } if *a == axis => Length::Is(*n),
            Op::Spread { src, axis: a, .. } => Length::Of(*src, axis - u8::from(axis > *a)),
            Op::Slice { axis: a, start, stop, stride, .. } if *a == axis => {
                Length::Span { start: *start, stop: *stop, stride: *stride }
            }
            Op::Slice { src, .. } => Length::Of(*src, axis),
            _ => Length::Own,
        }
    }
}
