//! The parts of stencils: shifted slices, weighted sums of them, and margins beyond the edges.

use crate::axis::{len, slice};
use crate::elem::{Elem, Num};
use crate::handle::{MExp, TExp, VExp};
use crate::matrix::block;
use crate::node::{self, NodeRef, Op, make};
use crate::scope::Place;
use crate::widths::{Width, Widths};
use crate::windows::Windows;
use arraygpu_compiler::Error;
pub use arraygpu_compiler::build::Boundary;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::loc::Loc;
use arraygpu_compiler::scalar::{BinaryOp, Lit, eval_cast};
use std::panic::Location;

impl<T: Elem> VExp<T> {
    /// The `k` slices of length `len - (k - 1)`, of which slice i begins at element i: the
    /// neighbours of a stencil. 0 slices are an error of the generator; a vector that is too short
    /// is an error of the call.
    ///
    /// Cost: none; it changes indices. On GPUs the elements that read the same neighbours share
    /// them.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| { let w = x.windows(2); w[1] - w[0] };
    /// assert_eq!(call(f, [vector(&[1.0f32, 2.0, 4.0])]), [vector(&[1.0f32, 2.0])]);
    /// ```
    #[track_caller]
    pub fn windows(self, k: usize) -> Windows<VExp<T>> {
        let at = Location::caller();
        let parts = match k {
            0 => vec![VExp::of(mistake(at, self.node().ty, "windows of no elements"))],
            _ => windows(at, "windows", self.node(), k).into_iter().map(VExp::of).collect(),
        };
        Windows::new(parts, format!("windows({k})"), "elements")
    }

    /// `result[i] = weights[0] * x[i] + weights[1] * x[i + 1] + ...`: the first product is rounded,
    /// then follows a chain of multiply-adds. It is `weights.len() - 1` elements shorter than x. No
    /// weights are an error of the generator; a vector that is too short is an error of the call.
    ///
    /// Cost: fused; one operation for each weight and element. On GPUs the elements that read the
    /// same neighbours share them.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.weighted_sum(&[0.5, 0.5]);
    /// assert_eq!(call(f, [vector(&[1.0f32, 3.0, 5.0])]), [vector(&[2.0f32, 4.0])]);
    /// ```
    #[track_caller]
    pub fn weighted_sum(self, weights: &[T]) -> VExp<T>
    where
        T: Num,
    {
        let at = Location::caller();
        if weights.is_empty() {
            return VExp::of(mistake(at, self.node().ty, "weighted_sum needs a weight"));
        }
        let slices = windows(at, "weighted_sum", self.node(), weights.len());
        VExp::of(chain(at, "weighted_sum", &slices, weights))
    }

    /// The vector with `before` more elements in front and `after` behind, as the boundary says. A
    /// margin of [`Boundary::Mirror`] and [`Boundary::Wrap`] is at most as wide as the vector; the
    /// others have any width, if the vector has an element. This is checked before the function
    /// runs. Reading a margin leaves no error record.
    ///
    /// A width is a number of the generator, or is made of lengths, constants, scalar parameters and
    /// staged values: then it is 0 or more, which is checked as well. Where such a width is not staged,
    /// the compiler does not know which elements read a margin, and each tests its own index.
    ///
    /// `x.padded(1, 1, Boundary::Clamp).weighted_sum(&[0.25, 0.5, 0.25])` is as long as `x`.
    ///
    /// Cost: none; it changes indices. Elements near the ends take other code than those of the
    /// interior.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: VExp<f32>| x.padded(1, 2, Boundary::Clamp);
    /// assert_eq!(call(f, [vector(&[1.0f32, 2.0])]), [vector(&[1.0f32, 1.0, 2.0, 2.0, 2.0])]);
    /// ```
    #[track_caller]
    pub fn padded(self, before: impl Width, after: impl Width, boundary: Boundary<T>) -> VExp<T> {
        let at = Location::caller();
        VExp::of(padded(at, (self.node(), 0), [before.width_at(at), after.width_at(at)], boundary))
    }
}

impl<T: Elem> MExp<T> {
    /// The `kr * kc` parts of `rows - (kr - 1)` rows and `cols - (kc - 1)` columns: `windows2(kr,
    /// kc)[r][c]` begins in row r, column c. No parts are an error of the generator; a matrix that
    /// is too small is an error of the call.
    ///
    /// Cost: none; it changes indices. On GPUs the elements that read the same neighbours share
    /// them.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: MExp<f32>| { let w = x.windows2(2, 2); w[0][0] + w[1][1] };
    /// assert_eq!(call(f, [matrix(&[[1.0f32, 2.0], [3.0, 4.0]])]), [matrix(&[[5.0f32]])]);
    /// ```
    #[track_caller]
    pub fn windows2(self, kr: usize, kc: usize) -> Windows<Windows<MExp<T>>> {
        let at = Location::caller();
        let parts = if kr == 0 || kc == 0 {
            let wrong = mistake(at, self.node().ty, "windows2 of no elements");
            vec![vec![wrong; kc.max(1)]; kr.max(1)]
        } else {
            windows2(at, "windows2", self.node(), kr, kc)
        };
        rows_of(parts, &format!("windows2({kr}, {kc})"), MExp::of)
    }

    /// `result[i, j]` is the sum of `weights[r][c] * x[i + r, j + c]`, row by row of the weights:
    /// the first product is rounded, then follows a chain of multiply-adds. With R x C weights the
    /// result has R - 1 rows and C - 1 columns less than x. No weights, and rows of different
    /// lengths, are an error of the generator; a matrix that is too small is an error of the call.
    ///
    /// Cost: fused; one operation for each weight and element. On GPUs the elements that read the
    /// same neighbours share them.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: MExp<f32>| x.weighted_sum2(&[[0.5, 0.0], [0.0, 0.5]]);
    /// assert_eq!(call(f, [matrix(&[[1.0f32, 2.0], [3.0, 5.0]])]), [matrix(&[[3.0f32]])]);
    /// ```
    #[track_caller]
    pub fn weighted_sum2<R: AsRef<[T]>>(self, weights: &[R]) -> MExp<T>
    where
        T: Num,
    {
        let at = Location::caller();
        let kc = weights.first().map_or(0, |row| row.as_ref().len());
        if kc == 0 {
            return MExp::of(mistake(at, self.node().ty, "weighted_sum2 needs a weight"));
        }
        if let Some(other) = weights.iter().find(|row| row.as_ref().len() != kc) {
            let lengths = format!("the rows of weights have {kc} and {} of them", other.as_ref().len());
            return MExp::of(mistake(at, self.node().ty, &format!("weighted_sum2: {lengths}")));
        }
        let slices = windows2(at, "weighted_sum2", self.node(), weights.len(), kc).concat();
        let weights: Vec<T> = weights.iter().flat_map(|row| row.as_ref()).copied().collect();
        MExp::of(chain(at, "weighted_sum2", &slices, &weights))
    }

    /// The matrix with more rows, `[above, below]`, and more columns, `[left, right]`, as the
    /// boundary says; see [`VExp::padded`]. The rows are added first, so that the corners continue
    /// the rows' margins.
    ///
    /// Cost: none; it changes indices. Elements near the edges take other code than those of the
    /// interior.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: MExp<f32>| x.padded([1, 0], [0, 1], Boundary::Constant(0.0));
    /// assert_eq!(call(f, [matrix(&[[1.0f32]])]), [matrix(&[[0.0f32, 0.0], [1.0, 0.0]])]);
    /// ```
    #[track_caller]
    pub fn padded(self, rows: impl Widths, cols: impl Widths, boundary: Boundary<T>) -> MExp<T> {
        let at = Location::caller();
        let tall = padded(at, (self.node(), 0), rows.widths_at(at), boundary);
        MExp::of(padded(at, (tall, 1), cols.widths_at(at), boundary))
    }
}

impl<T: Elem> TExp<T> {
    /// The `kp * kr * kc` parts of `planes - (kp - 1)` planes, `rows - (kr - 1)` rows and `cols - (kc - 1)`
    /// columns: `windows3(kp, kr, kc)[p][r][c]` begins in plane p, row r, column c. No parts are an
    /// error of the generator; a volume that is too small is an error of the call.
    ///
    /// Cost: none; it changes indices. On GPUs the elements that read the same neighbours share
    /// them.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: TExp<f32>| { let w = x.windows3(1, 2, 2); w[0][0][0] + w[0][1][1] };
    /// assert_eq!(call(f, [tensor(&[[[1.0f32, 2.0], [3.0, 4.0]]])]), [tensor(&[[[5.0f32]]])]);
    /// ```
    #[track_caller]
    pub fn windows3(self, kp: usize, kr: usize, kc: usize) -> Windows<Windows<Windows<TExp<T>>>> {
        let at = Location::caller();
        let parts = if kp == 0 || kr == 0 || kc == 0 {
            let wrong = mistake(at, self.node().ty, "windows3 of no elements");
            vec![vec![vec![wrong; kc.max(1)]; kr.max(1)]; kp.max(1)]
        } else {
            windows3(at, "windows3", self.node(), [kp, kr, kc])
        };
        let of = format!("windows3({kp}, {kr}, {kc})");
        let plane = |(p, plane)| rows_of(plane, &format!("{of}[{p}]"), TExp::of);
        Windows::new(parts.into_iter().enumerate().map(plane).collect(), &of, "planes")
    }

    /// `result[k, i, j]` is the sum of `weights[p][r][c] * x[k + p, i + r, j + c]`, plane by plane of
    /// the weights and row by row of each: the first product is rounded, then follows a chain of
    /// multiply-adds. With P x R x C weights the result has P - 1 planes, R - 1 rows and C - 1 columns
    /// less than x. No weights, and planes or rows of different lengths, are an error of the
    /// generator; a volume that is too small is an error of the call.
    ///
    /// Cost: fused; one operation for each weight and element. On GPUs the elements that read the
    /// same neighbours share them.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: TExp<f32>| x.weighted_sum3(&[[[0.5]], [[0.25]]]);
    /// assert_eq!(call(f, [tensor(&[[[2.0f32, 4.0]], [[4.0, 8.0]]])]), [tensor(&[[[2.0f32, 4.0]]])]);
    /// ```
    #[track_caller]
    pub fn weighted_sum3<P: AsRef<[R]>, R: AsRef<[T]>>(self, weights: &[P]) -> TExp<T>
    where
        T: Num,
    {
        let at = Location::caller();
        let wrong = |message: &str| TExp::of(mistake(at, self.node().ty, &format!("weighted_sum3{message}")));
        let planes: Vec<&[R]> = weights.iter().map(AsRef::as_ref).collect();
        let kr = planes.first().map_or(0, |plane| plane.len());
        let rows: Vec<&[T]> = planes.iter().copied().flatten().map(AsRef::as_ref).collect();
        let kc = rows.first().map_or(0, |row| row.len());
        if let Some(other) = planes.iter().find(|plane| plane.len() != kr) {
            return wrong(&format!(": the planes of weights have {kr} and {} rows", other.len()));
        }
        if let Some(other) = rows.iter().find(|row| row.len() != kc) {
            return wrong(&format!(": the rows of weights have {kc} and {} of them", other.len()));
        }
        if kc == 0 {
            return wrong(" needs a weight");
        }
        let slices = windows3(at, "weighted_sum3", self.node(), [planes.len(), kr, kc]);
        TExp::of(chain(at, "weighted_sum3", &slices.concat().concat(), &rows.concat()))
    }

    /// The volume with more planes, `[front, behind]`, more rows, `[above, below]`, and more columns,
    /// `[left, right]`, as the boundary says; see [`VExp::padded`]. The planes are added first, then
    /// the rows, so that edges and corners continue the margins before.
    ///
    /// Cost: none; it changes indices. Elements near the edges take other code than those of the
    /// interior.
    ///
    /// ```
    /// # use arraygpu_dsl::{example::*, prelude::*};
    /// let f = |x: TExp<f32>| x.padded([0, 1], [0, 0], [1, 0], Boundary::Clamp);
    /// let found = call(f, [tensor(&[[[1.0f32, 2.0]]])]);
    /// assert_eq!(found, [tensor(&[[[1.0f32, 1.0, 2.0]], [[1.0, 1.0, 2.0]]])]);
    /// ```
    #[track_caller]
    pub fn padded(
        self,
        planes: impl Widths,
        rows: impl Widths,
        cols: impl Widths,
        boundary: Boundary<T>,
    ) -> TExp<T> {
        let at = Location::caller();
        let deep = padded(at, (self.node(), 0), planes.widths_at(at), boundary);
        let tall = padded(at, (deep, 1), rows.widths_at(at), boundary);
        TExp::of(padded(at, (tall, 2), cols.widths_at(at), boundary))
    }
}

fn mistake(at: Place, ty: Type, message: &str) -> NodeRef {
    node::invalid(at, ty, Error::user("E0207", message).at(Some(&Loc::caller(at))))
}

fn number(at: Place, n: usize) -> NodeRef {
    node::constant(at, Lit::i64(n as i64))
}

/// The windows of a matrix by rows and columns.
fn rows_of<W>(parts: Vec<Vec<NodeRef>>, of: &str, window: fn(NodeRef) -> W) -> Windows<Windows<W>> {
    let row = |(r, row): (usize, Vec<NodeRef>)| {
        Windows::new(row.into_iter().map(window).collect(), format!("{of}[{r}]"), "columns")
    };
    Windows::new(parts.into_iter().enumerate().map(row).collect(), of, "rows")
}

/// The ends of the `k` windows along an axis.
fn ends(at: Place, src: NodeRef, axis: u8, k: usize) -> Vec<[NodeRef; 2]> {
    let count = node::binary(at, BinaryOp::Sub, len(at, src, axis), number(at, k - 1));
    let window = |i: usize| {
        let start = number(at, i);
        [start, node::binary(at, BinaryOp::Add, count, start)]
    };
    (0..k).map(window).collect()
}

fn windows(at: Place, construct: &'static str, src: NodeRef, k: usize) -> Vec<NodeRef> {
    ends(at, src, 0, k).into_iter().map(|ends| slice(at, construct, (src, 0), ends, None)).collect()
}

fn windows2(at: Place, construct: &'static str, src: NodeRef, kr: usize, kc: usize) -> Vec<Vec<NodeRef>> {
    let cols = ends(at, src, 1, kc);
    let row = |rows| cols.iter().map(|cols| block(at, construct, src, rows, *cols)).collect();
    ends(at, src, 0, kr).into_iter().map(row).collect()
}

fn windows3(
    at: Place,
    construct: &'static str,
    src: NodeRef,
    [kp, kr, kc]: [usize; 3],
) -> Vec<Vec<Vec<NodeRef>>> {
    let (rows, cols) = (ends(at, src, 1, kr), ends(at, src, 2, kc));
    let plane = |planes| {
        let plane = slice(at, construct, (src, 0), planes, None);
        let row = |rows: &[NodeRef; 2]| {
            let row = slice(at, construct, (plane, 1), *rows, None);
            cols.iter().map(|cols| slice(at, construct, (row, 2), *cols, None)).collect()
        };
        rows.iter().map(row).collect()
    };
    ends(at, src, 0, kp).into_iter().map(plane).collect()
}

/// `weights[0] * slices[0]` rounded, then multiply-adds. Halves are summed in f32, and rounded
/// once.
fn chain<T: Elem>(at: Place, construct: &'static str, slices: &[NodeRef], weights: &[T]) -> NodeRef {
    let ty = node::sum_type(T::TY);
    node::map_slices(at, construct, slices, |x| {
        let weight = |w: &T| node::constant(at, eval_cast(ty, w.lit()));
        let x: Vec<NodeRef> = x.iter().map(|x| node::as_type(at, ty, x)).collect();
        let product = node::binary(at, BinaryOp::Mul, weight(&weights[0]), x[0]);
        let sum = weights[1..]
            .iter()
            .zip(&x[1..])
            .fold(product, |sum, (w, x)| make(at, Type::scalar(ty), Op::MulAdd(weight(w), x, sum)));
        node::as_type(at, T::TY, sum)
    })
}

fn padded<T: Elem>(
    at: Place,
    (src, axis): (NodeRef, u8),
    margins: [NodeRef; 2],
    boundary: Boundary<T>,
) -> NodeRef {
    if margins.iter().all(|n| matches!(n.op, Op::Const(zero) if zero == Lit::i64(0))) {
        return src;
    }
    let boundary = match boundary {
        Boundary::Clamp => Boundary::Clamp,
        Boundary::Mirror => Boundary::Mirror,
        Boundary::Wrap => Boundary::Wrap,
        Boundary::Constant(c) => Boundary::Constant(node::constant(at, c.lit())),
    };
    make(at, src.ty, Op::Pad { src, axis, margins, boundary })
}
