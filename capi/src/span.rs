//! Spans: an address with extents and strides that were checked. All operations on arrays use
//! spans.

use arraygpu_compiler::scalar::Ty;

/// The largest number of dimensions of an array.
pub(crate) const RANKS: usize = arraygpu_compiler::core::MAX_RANK;
/// The maximum number of axes of a view: an array of structs is viewed as bytes, which are one more axis after its
/// own.
pub(crate) const AXES: usize = RANKS + 1;

/// A view that was checked against its buffer: `base + i * stride + ...`, for all indices inside
/// the extents, are elements of the buffer. There are always [`AXES`] axes; a vector has axes of
/// extent 1 before its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub base: *mut u8,
    pub ty: Ty,
    pub rank: usize,
    /// The extents, the outermost axis first.
    pub extents: [i64; AXES],
    /// The strides in elements. A stride that has no effect (one element along the axis, or no
    /// elements at all) is that of a dense array.
    pub strides: [i64; AXES],
}

impl Span {
    /// Makes a span of an address, extents and strides that were checked.
    pub fn new(base: *mut u8, ty: Ty, extents: &[i64], strides: &[i64]) -> Span {
        let mut span = Span { base, ty, rank: 0, extents: [1; AXES], strides: [1; AXES] };
        span.set(base, extents, strides);
        span
    }

    /// Changes this span to another place and shape, which the caller has checked. It is written in
    /// place, word by word, because spans take half of the time of a small call.
    #[inline]
    pub fn set(&mut self, base: *mut u8, extents: &[i64], strides: &[i64]) {
        let before = AXES - extents.len();
        (self.base, self.rank, self.extents, self.strides) = (base, extents.len(), [1; AXES], [1; AXES]);
        for (axis, n) in extents.iter().enumerate() {
            self.extents[before + axis] = *n;
        }
        if self.is_empty() {
            return;
        }
        let mut dense = 1;
        for axis in (0..AXES).rev() {
            let n = self.extents[axis];
            self.strides[axis] = if n == 1 { dense } else { strides[axis - before] };
            dense *= n;
        }
    }

    /// A span in row-major order without gaps.
    pub fn dense(base: *mut u8, ty: Ty, extents: &[i64]) -> Span {
        Span::new(base, ty, extents, &[1; AXES]).packed(base)
    }

    /// A dense array of the same extents at another address.
    pub fn packed(&self, base: *mut u8) -> Span {
        let mut strides = [1i64; AXES];
        for axis in (1..AXES).rev() {
            strides[axis - 1] = strides[axis].wrapping_mul(self.extents[axis]);
        }
        Span { base, strides: if self.is_empty() { [1; AXES] } else { strides }, ..*self }
    }

    /// The part at an index of the first axis of an array of at least two axes.
    pub fn part(&self, at: i64) -> Span {
        let bytes = at.wrapping_mul(self.stride(0)).wrapping_mul(self.ty.size() as i64);
        let base = self.base.wrapping_offset(bytes as isize);
        Span::new(base, self.ty, &self.shape()[1..], &self.distances()[1..])
    }

    /// A span of one element, of rank 0.
    pub fn scalar(base: *mut u8, ty: Ty) -> Span {
        Span::new(base, ty, &[], &[])
    }

    /// A span without elements.
    pub fn nothing(ty: Ty) -> Span {
        Span::new(std::ptr::null_mut(), ty, &[0], &[1])
    }

    /// Returns the extents of the span's own axes.
    pub fn shape(&self) -> &[i64] {
        &self.extents[AXES - self.rank..]
    }

    /// Returns the strides of the span's own axes.
    pub fn distances(&self) -> &[i64] {
        &self.strides[AXES - self.rank..]
    }

    /// Returns the extent along an axis; 1 for an axis beyond the rank.
    pub fn extent(&self, axis: u8) -> i64 {
        self.shape().get(usize::from(axis)).copied().unwrap_or(1)
    }

    /// Returns the stride along an axis, in elements.
    pub fn stride(&self, axis: u8) -> i64 {
        self.distances().get(usize::from(axis)).copied().unwrap_or(1)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> i64 {
        self.extents.iter().fold(1, |n, e| n.wrapping_mul(*e))
    }

    pub fn is_empty(&self) -> bool {
        self.extents.contains(&0)
    }

    /// Returns the size of all elements in bytes.
    pub fn bytes(&self) -> usize {
        self.len() as usize * self.ty.size()
    }

    /// Whether neighbours along the last axis are adjacent in memory.
    pub fn is_contiguous(&self) -> bool {
        self.strides[AXES - 1] == 1
    }

    /// Whether all elements are adjacent in memory, in row-major order.
    pub fn is_flat(&self) -> bool {
        self.is_empty() || self.strides == self.packed(self.base).strides
    }

    /// Whether both spans have the same elements in the same order.
    pub fn is_same(&self, other: &Span) -> bool {
        self.base == other.base
            && self.extents == other.extents
            && self.strides == other.strides
            && self.ty == other.ty
    }
}

/// Formats extents, for example as `3 x 4`.
pub(crate) fn extents(shape: &[i64]) -> String {
    shape.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ")
}

/// Returns the word for an array of a rank.
pub(crate) fn noun(rank: usize) -> &'static str {
    match rank {
        0 => "scalar",
        1 => "vector",
        2 => "matrix",
        RANKS => "array of rank 3",
        _ => "array of structs of rank 3",
    }
}

/// Returns the number of elements, or `None` if it overflows.
pub(crate) fn count(shape: &[i64]) -> Option<i64> {
    if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1i64, |n, e| n.checked_mul(*e)) }
}
