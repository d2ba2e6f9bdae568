//! Decides whether views share memory. The answer is exact for vectors. For matrices it is exact
//! unless the search would take too long; then the views are said to overlap.
//!
//! A view is a set of bytes: elements at distances along axes. If both views have an axis of the
//! same step, only the difference of the two row indices matters, and few differences bring the
//! rows together. Other axes are tried row by row. Two arithmetic progressions remain, for which a
//! linear Diophantine equation decides.

use crate::span::{AXES, Span};

/// Number of pairs of rows that are examined before two views are said to overlap.
const PATIENCE: u32 = 1 << 12;

impl Span {
    /// Whether both views contain the same byte. Interleaved views do not overlap.
    pub fn overlaps(&self, other: &Span) -> bool {
        if self.is_empty() || other.is_empty() || !near(self.reach(), other.reach()) {
            return false;
        }
        let (mut a, mut b) = (Bytes::of(self), Bytes::of(other));
        a.merge();
        b.merge();
        a.meets(&b, &mut PATIENCE.clone())
    }

    /// Whether two elements of the view share a byte.
    pub fn overlaps_itself(&self) -> bool {
        if self.is_empty() || self.is_flat() {
            return false;
        }
        let (mut all, mut patience) = (Bytes::of(self), PATIENCE);
        if all.axes[..all.rank].iter().any(|a| a.step == 0) {
            return true;
        }
        while all.rank > 0 {
            let (axis, row) = (all.axes[0], all.row(0));
            // The largest number of rows by which a later row still reaches into the first one.
            let most = (axis.count - 1).min((row.width() - 1) / axis.step);
            if (1..=most).any(|m| all.row(m * axis.step).meets(&row, &mut patience)) {
                return true;
            }
            all = row;
        }
        false
    }
}

impl Span {
    /// Returns the range of addresses of the elements: the first byte, and the byte after the last.
    /// The span must not be empty.
    pub fn reach(&self) -> (i64, i64) {
        let size = self.ty.size() as i64;
        let (mut first, mut last) = (self.base.addr() as i64, self.base.addr() as i64);
        for (n, stride) in self.extents.iter().zip(&self.strides) {
            let far = (n - 1) * stride * size;
            let end = if far < 0 { &mut first } else { &mut last };
            *end = end.saturating_add(far);
        }
        (first, last.saturating_add(size))
    }
}

fn near<T: PartialOrd>(a: (T, T), b: (T, T)) -> bool {
    a.0 < b.1 && b.0 < a.1
}

/// `count` repetitions that are `step` bytes apart.
#[derive(Clone, Copy, Default)]
struct Axis {
    count: i128,
    step: i128,
}

/// The bytes of a span: elements of `size` bytes along ascending axes, the longest steps first.
#[derive(Clone, Copy)]
struct Bytes {
    start: i128,
    size: i128,
    rank: usize,
    axes: [Axis; AXES],
}

impl Bytes {
    /// The bytes of a span that is not empty.
    fn of(s: &Span) -> Bytes {
        let size = s.ty.size() as i128;
        let mut out = Bytes { start: s.base.addr() as i128, size, rank: 0, axes: Default::default() };
        for (n, stride) in s.extents.iter().zip(&s.strides).filter(|(n, _)| **n > 1) {
            let (count, step) = (i128::from(*n), i128::from(*stride) * size);
            out.start += step.min(0) * (count - 1);
            out.axes[out.rank] = Axis { count, step: step.abs() };
            out.rank += 1;
        }
        out.axes[..out.rank].sort_unstable_by_key(|a| -a.step);
        out
    }

    /// Reduces the number of axes without changing the bytes: drops axes of step 0, and merges two
    /// axes that leave no gaps.
    fn merge(&mut self) {
        let axes = self.axes;
        let moving = axes[..self.rank].iter().filter(|a| a.step > 0);
        self.rank = 0;
        for inner in moving {
            if let Some(outer) = self.axes[..self.rank].last_mut()
                && outer.step % inner.step == 0
                && outer.step / inner.step <= inner.count
            {
                let count = (outer.count - 1) * (outer.step / inner.step) + inner.count;
                *outer = Axis { count, step: inner.step };
                continue;
            }
            self.axes[self.rank] = *inner;
            self.rank += 1;
        }
    }

    fn width(&self) -> i128 {
        self.axes[..self.rank].iter().map(|a| (a.count - 1) * a.step).sum::<i128>() + self.size
    }

    fn is_near(&self, other: &Bytes) -> bool {
        near((self.start, self.start + self.width()), (other.start, other.start + other.width()))
    }

    /// Returns the part at index 0 of the first axis, moved by `bytes`.
    fn row(&self, bytes: i128) -> Bytes {
        let mut row = Bytes { start: self.start + bytes, rank: self.rank - 1, ..*self };
        row.axes.rotate_left(1);
        row
    }

    /// Whether a byte belongs to both, or `patience` is used up before that is known.
    fn meets(&self, other: &Bytes, patience: &mut u32) -> bool {
        if !self.is_near(other) {
            return false;
        }
        *patience = patience.saturating_sub(1);
        if *patience == 0 {
            return true;
        }
        let (a, b) = (self.axes[0], other.axes[0]);
        if self.rank <= 1 && other.rank <= 1 {
            return Progression::of(self).meets(&Progression::of(other));
        }
        if self.rank > 0 && other.rank > 0 && a.step == b.step {
            // For row i of one view and row k of the other only i - k matters.
            return self.meets_at(other.row(0), a.step, 1 - b.count, a.count - 1, patience);
        }
        if self.rank > 0 && (other.rank == 0 || a.step > b.step) {
            self.meets_at(*other, a.step, 0, a.count - 1, patience)
        } else {
            other.meets_at(*self, b.step, 0, b.count - 1, patience)
        }
    }

    /// Whether a row of this view, moved by m steps for any m from `low` to `high`, meets the other
    /// view.
    fn meets_at(&self, other: Bytes, step: i128, low: i128, high: i128, patience: &mut u32) -> bool {
        let (row, far) = (self.row(0), other.start - self.start);
        // Only these values of m bring the row near the other view.
        let low = low.max((far - row.width()).div_euclid(step) + 1);
        let high = high.min((far + other.width() - 1).div_euclid(step));
        (low..=high).any(|m| self.row(m * step).meets(&other, patience))
    }
}

/// Elements along one axis.
#[derive(Clone, Copy)]
struct Progression {
    start: i128,
    count: i128,
    step: i128,
    size: i128,
}

impl Progression {
    /// The progression of bytes with at most one axis.
    fn of(b: &Bytes) -> Progression {
        let one = Axis { count: 1, step: b.size };
        let Axis { count, step } = if b.rank == 0 || b.axes[0].step == 0 { one } else { b.axes[0] };
        Progression { start: b.start, count, step, size: b.size }
    }

    fn end(&self) -> i128 {
        self.start + (self.count - 1) * self.step + self.size
    }

    /// Whether there are i, j with |a + i s - (b + j t)| less than the size of an element. Each
    /// distance gives one linear Diophantine equation.
    fn meets(&self, other: &Progression) -> bool {
        if self.end() <= other.start || other.end() <= self.start {
            return false;
        }
        if self.step == self.size && other.step == other.size {
            return true;
        }
        let (g, u) = gcd(self.step, other.step);
        let (s, t) = (self.step / g, other.step / g);
        (1 - self.size..other.size).any(|d| {
            // The equation is i * self.step - j * other.step = c.
            let c = other.start - self.start + d;
            if c % g != 0 {
                return false;
            }
            // This is the least i >= 0 that solves it. Further solutions follow in steps of t in i
            // and of s in j.
            let i = (u.rem_euclid(t) * (c / g).rem_euclid(t)).rem_euclid(t);
            if i >= self.count {
                return false;
            }
            let (j, steps) = ((i * self.step - c) / other.step, (self.count - 1 - i) / t);
            let first = if j < 0 { (-j + s - 1) / s } else { 0 };
            first <= steps && j + first * s < other.count
        })
    }
}

/// Returns the greatest common divisor g of a and b, and u with a u = g modulo b.
fn gcd(a: i128, b: i128) -> (i128, i128) {
    let (mut r, mut u) = ((a, b), (1, 0));
    while r.1 != 0 {
        let q = r.0 / r.1;
        r = (r.1, r.0 - q * r.1);
        u = (u.1, u.0 - q * u.1);
    }
    (r.0, u.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arraygpu_compiler::scalar::Ty;

    fn span(base: usize, extents: &[i64], strides: &[i64], ty: Ty) -> Span {
        Span::new(std::ptr::without_provenance_mut(base), ty, extents, strides)
    }

    /// Returns the bytes of every element, in any order.
    fn bytes(s: &Span) -> Vec<i64> {
        let mut at = vec![s.base.addr() as i64];
        for (n, stride) in s.extents.iter().zip(&s.strides) {
            at = at.iter().flat_map(|a| (0..*n).map(move |i| a + i * stride * s.ty.size() as i64)).collect();
        }
        at.into_iter().flat_map(|a| a..a + s.ty.size() as i64).collect()
    }

    #[track_caller]
    fn check(a: &Span, b: &Span) -> bool {
        let (x, y) = (bytes(a), bytes(b));
        let expected = y.iter().any(|y| x.contains(y));
        assert_eq!(a.overlaps(b), expected, "{a:?} {b:?}");
        assert_eq!(b.overlaps(a), expected, "{b:?} {a:?}");
        expected
    }

    /// Compares every pair of small progressions with the sets of bytes.
    #[test]
    fn overlap_is_exact() {
        let a = span(1000, &[5], &[3], Ty::F32);
        for ty in [Ty::F32, Ty::F64, Ty::U8] {
            for (base, len) in (960..1080).step_by(ty.size()).flat_map(|b| (0..5).map(move |n| (b, n))) {
                for stride in [-5, -3, -1, 0, 1, 2, 3, 4, 6] {
                    check(&a, &span(base, &[len], &[stride], ty));
                }
            }
        }
    }

    /// Compares small matrices of equal and of different strides, and arrays of rank 3, with the
    /// sets of bytes.
    #[test]
    fn overlap_of_matrices_is_exact() {
        let strides = [[7, 1], [1, 7], [-7, 2], [5, 1], [3, -2], [2, 3], [8, 0], [1, 1], [0, 0]];
        let mut found = [0; 2];
        for s in strides {
            let a = span(1000, &[3, 2], &s, Ty::F32);
            for t in strides {
                for extents in [[2, 3], [4, 1], [1, 4], [3, 3], [0, 2]] {
                    for (ty, by) in [(Ty::F32, 4), (Ty::I16, 2)] {
                        for base in (900..1140).step_by(by) {
                            found[usize::from(check(&a, &span(base, &extents, &t, ty)))] += 1;
                        }
                    }
                }
            }
        }
        let threes = [[20, 5, 1], [1, 4, 8], [6, -3, 2], [9, 9, 1], [4, 3, 2]];
        for (s, t) in threes.iter().flat_map(|s| threes.iter().map(move |t| (s, t))) {
            let a = span(1000, &[2, 3, 2], s, Ty::F32);
            for base in (880..1200).step_by(4) {
                found[usize::from(check(&a, &span(base, &[3, 2, 2], t, Ty::F32)))] += 1;
                found[usize::from(check(&a, &span(base, &[3, 4], &t[1..], Ty::F32)))] += 1;
            }
        }
        // the bytes of structs in arrays of rank 3
        let fours = [[24, 12, 4, 1], [30, 14, 5, 1], [3, 24, 6, 1], [-24, 8, 4, 1], [40, 9, 3, 2]];
        for (s, t) in fours.iter().flat_map(|s| fours.iter().map(move |t| (s, t))) {
            let a = span(1000, &[2, 2, 3, 2], s, Ty::U8);
            for base in (930..1080).step_by(3) {
                found[usize::from(check(&a, &span(base, &[2, 3, 2, 2], t, Ty::U8)))] += 1;
            }
        }
        assert!(found[0] > 10_000 && found[1] > 10_000, "{found:?}");
    }

    #[test]
    fn self_overlap_is_exact() {
        let mut found = [0; 2];
        let steps: [i64; 12] = [-9, -6, -4, -2, -1, 0, 1, 2, 3, 5, 6, 12];
        for extents in [[1, 1, 4], [1, 3, 2], [1, 2, 5], [2, 3, 2], [3, 2, 3], [0, 2, 2]] {
            for i in 0..steps.len().pow(3) {
                let strides = [i / 144, i / 12 % 12, i % 12].map(|k| steps[k]);
                let a = span(4000, &extents, &strides, Ty::I16);
                let mut all = bytes(&a);
                all.sort_unstable();
                let expected = all.windows(2).any(|w| w[0] == w[1]);
                assert_eq!(a.overlaps_itself(), expected, "{a:?}");
                found[usize::from(expected)] += 1;
                // the bytes of structs of two
                let a = span(
                    4000,
                    &[extents.as_slice(), &[2]].concat(),
                    &[strides.as_slice(), &[1]].concat(),
                    Ty::U8,
                );
                let mut all = bytes(&a);
                all.sort_unstable();
                assert_eq!(a.overlaps_itself(), all.windows(2).any(|w| w[0] == w[1]), "{a:?}");
            }
        }
        assert!(found[0] > 1000 && found[1] > 1000, "{found:?}");
    }

    /// Blocks of one large matrix are distinguished at once, whatever their size.
    #[test]
    fn blocks_of_large_matrices() {
        let (rows, pitch) = (1 << 30, 1 << 20);
        let columns = |from: usize, n| span((1 << 20) + from * 4, &[rows, n], &[pitch, 1], Ty::F32);
        let (left, right) = (columns(0, pitch / 2), columns(1 << 19, pitch / 2));
        assert!(!left.overlaps(&right) && !right.overlaps(&left));
        assert!(left.overlaps(&columns((1 << 19) - 1, 2)) && !left.overlaps(&columns(1 << 19, 1)));
        // The last columns of a row meet the first columns of the next row.
        assert!(columns(1 << 19, pitch / 2 + 1).overlaps(&left));
        let transposed = span((1 << 20) + (1 << 21), &[pitch / 2, rows], &[1, pitch], Ty::F32);
        assert!(!left.overlaps(&transposed) && right.overlaps(&transposed));
        let (even, odd) = (span(1 << 20, &[rows, 100], &[2 * pitch, 1], Ty::F32), columns(1 << 20, 100));
        assert!(even.overlaps(&odd), "odd has every row");
        let odd = span((1 << 20) + (4 << 20), &[rows, 100], &[2 * pitch, 1], Ty::F32);
        assert!(!even.overlaps(&odd) && !even.overlaps_itself());
        // Rows of another pitch are not distinguished before the limit.
        assert!(left.overlaps(&span((1 << 20) + (1 << 21), &[rows, 2], &[pitch + 2, 1], Ty::F32)));
    }

    #[test]
    fn huge_spans_do_not_overflow() {
        let a = span(16, &[i64::MAX / 8], &[1], Ty::F64);
        let b = span(24, &[i64::MAX / 1024], &[63], Ty::F64);
        assert!(a.overlaps(&b));
        let (even, odd) =
            (span(1 << 20, &[1 << 50], &[2], Ty::U8), span((1 << 20) + 1, &[1 << 50], &[2], Ty::U8));
        assert!(!even.overlaps(&odd));
        assert!(even.overlaps(&span((1 << 20) + 1, &[1 << 49], &[3], Ty::U8)));
    }
}
