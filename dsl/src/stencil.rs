//! The parts of stencils: shifted slices, weighted sums of them, and margins beyond the edges.

use crate::axis::{len, slice};
use crate::elem::Num;
use crate::handle::{MExp, TExp, VExp};
use crate::item::Item;
use crate::matrix::block;
use crate::node::{self, NodeRef, Op, make};
use crate::results::{Results, leafwise, nodes_of, of_nodes};
use crate::scope::Place;
use crate::widths::{Width, Widths};
use crate::windows::Windows;
use arraygpu_compiler::Error;
pub use arraygpu_compiler::build::Boundary;
use arraygpu_compiler::core::Type;
use arraygpu_compiler::loc::Loc;
use arraygpu_compiler::scalar::{BinaryOp, Lit, eval_cast};
use std::panic::Location;

impl<T: Item> VExp<T> {
    /// The `k` slices of length `len - (k - 1)`, of which slice i begins at element i: the neighbours of a stencil. 0
    /// slices are an error of the generator; a vector of fewer than `k - 1` elements is an error of the call, and one
    /// of `k - 1` has slices without elements.
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
            0 => vec![mistake(at, self, "windows of no elements")],
            _ => windows(at, "windows", self, k),
        };
        Windows::new(parts, format!("windows({k})"), "elements")
    }

    /// `result[i] = weights[0] * x[i] + weights[1] * x[i + 1] + ...`: the first product is rounded, then follows a
    /// chain of multiply-adds. It is `weights.len() - 1` elements shorter than x. No weights are an error of the
    /// generator; a vector of fewer than `weights.len() - 1` elements is an error of the call. Halves are summed in
    /// f32, and rounded once (`docs/semantics.md` 5.4, 5.6).
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
            return mistake(at, self, "weighted_sum needs a weight");
        }
        let slices = windows(at, "weighted_sum", self, weights.len());
        VExp::of(chain(at, "weighted_sum", &nodes_of_all(slices), weights))
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
        let margins = [before.width_at(at), after.width_at(at)];
        with_margins(at, self, &[margins], boundary)
    }
}

impl<T: Item> MExp<T> {
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
            let wrong = mistake(at, self, "windows2 of no elements");
            vec![vec![wrong; kc.max(1)]; kr.max(1)]
        } else {
            windows2(at, "windows2", self, kr, kc)
        };
        rows_of(parts, &format!("windows2({kr}, {kc})"))
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
            return mistake(at, self, "weighted_sum2 needs a weight");
        }
        if let Some(other) = weights.iter().find(|row| row.as_ref().len() != kc) {
            let lengths = format!("the rows of weights have {kc} and {} of them", other.as_ref().len());
            return mistake(at, self, &format!("weighted_sum2: {lengths}"));
        }
        let slices = windows2(at, "weighted_sum2", self, weights.len(), kc).concat();
        let weights: Vec<T> = weights.iter().flat_map(|row| row.as_ref()).copied().collect();
        MExp::of(chain(at, "weighted_sum2", &nodes_of_all(slices), &weights))
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
        with_margins(at, self, &[rows.widths_at(at), cols.widths_at(at)], boundary)
    }
}

impl<T: Item> TExp<T> {
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
            let wrong = mistake(at, self, "windows3 of no elements");
            vec![vec![vec![wrong; kc.max(1)]; kr.max(1)]; kp.max(1)]
        } else {
            windows3(at, "windows3", self, [kp, kr, kc])
        };
        let of = format!("windows3({kp}, {kr}, {kc})");
        let plane = |(p, plane)| rows_of(plane, &format!("{of}[{p}]"));
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
        let wrong = |message: &str| mistake(at, self, &format!("weighted_sum3{message}"));
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
        let slices = windows3(at, "weighted_sum3", self, [planes.len(), kr, kc]).concat().concat();
        TExp::of(chain(at, "weighted_sum3", &nodes_of_all(slices), &rows.concat()))
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
        let margins = [planes.widths_at(at), rows.widths_at(at), cols.widths_at(at)];
        with_margins(at, self, &margins, boundary)
    }
}

/// What stands for arrays of this shape where the program has a mistake.
fn mistake<S: Results>(at: Place, like: S, message: &str) -> S {
    let error = Error::user("E0207", message).at(Some(&Loc::caller(at)));
    leafwise(like, |x| node::invalid(at, x.ty, error.clone()))
}

fn number(at: Place, n: usize) -> NodeRef {
    node::constant(at, Lit::i64(n as i64))
}

fn nodes_of_all(arrays: Vec<impl Results>) -> Vec<NodeRef> {
    arrays.into_iter().flat_map(nodes_of).collect()
}

/// The windows of a matrix by rows and columns.
fn rows_of<W>(parts: Vec<Vec<W>>, of: &str) -> Windows<Windows<W>> {
    let row = |(r, row): (usize, Vec<W>)| Windows::new(row, format!("{of}[{r}]"), "columns");
    Windows::new(parts.into_iter().enumerate().map(row).collect(), of, "rows")
}

/// The ends of the `k` windows along an axis.
fn ends(at: Place, array: impl Results, axis: u8, k: usize) -> Vec<[NodeRef; 2]> {
    // the arrays of a record have one shape
    let length = len(at, nodes_of(array)[0], axis);
    let count = node::binary(at, BinaryOp::Sub, length, number(at, k - 1));
    let window = |i: usize| {
        let start = number(at, i);
        [start, node::binary(at, BinaryOp::Add, count, start)]
    };
    (0..k).map(window).collect()
}

fn windows<S: Results>(at: Place, construct: &'static str, array: S, k: usize) -> Vec<S> {
    let window = |ends| leafwise(array, |x| slice(at, construct, (x, 0), ends, None));
    ends(at, array, 0, k).into_iter().map(window).collect()
}

fn windows2<S: Results>(at: Place, construct: &'static str, array: S, kr: usize, kc: usize) -> Vec<Vec<S>> {
    let cols = ends(at, array, 1, kc);
    let window = |rows, cols| leafwise(array, |x| block(at, construct, x, rows, cols));
    let row = |rows| cols.iter().map(|cols| window(rows, *cols)).collect();
    ends(at, array, 0, kr).into_iter().map(row).collect()
}

fn windows3<S: Results>(
    at: Place,
    construct: &'static str,
    array: S,
    [kp, kr, kc]: [usize; 3],
) -> Vec<Vec<Vec<S>>> {
    let (rows, cols) = (ends(at, array, 1, kr), ends(at, array, 2, kc));
    let part = |from: S, axis, ends| -> S { leafwise(from, |x| slice(at, construct, (x, axis), ends, None)) };
    let plane = |planes| {
        let plane = part(array, 0, planes);
        let row = |rows: &[NodeRef; 2]| {
            let row = part(plane, 1, *rows);
            cols.iter().map(|cols| part(row, 2, *cols)).collect()
        };
        rows.iter().map(row).collect()
    };
    ends(at, array, 0, kp).into_iter().map(plane).collect()
}

/// `weights[0] * slices[0]` rounded, then multiply-adds. Halves are summed in f32, and rounded
/// once.
fn chain<T: Num>(at: Place, construct: &'static str, slices: &[NodeRef], weights: &[T]) -> NodeRef {
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

/// An array with margins along each axis, the first axis first.
fn with_margins<T: Item, S: Results>(
    at: Place,
    array: S,
    margins: &[[NodeRef; 2]],
    boundary: Boundary<T>,
) -> S {
    let boundaries: Vec<Boundary<NodeRef>> = match boundary {
        Boundary::Constant(value) => {
            let mut leaves = Vec::new();
            value.literals(&mut leaves);
            leaves.into_iter().map(|x| Boundary::Constant(node::constant(at, x))).collect()
        }
        Boundary::Clamp => vec![Boundary::Clamp; nodes_of(array).len()],
        Boundary::Mirror => vec![Boundary::Mirror; nodes_of(array).len()],
        Boundary::Wrap => vec![Boundary::Wrap; nodes_of(array).len()],
    };
    let all = |(src, boundary): (NodeRef, Boundary<NodeRef>)| {
        let axes = (0u8..).zip(margins);
        axes.fold(src, |src, (axis, margins)| padded(at, (src, axis), *margins, boundary))
    };
    of_nodes(&nodes_of(array).into_iter().zip(boundaries).map(all).collect::<Vec<_>>())
}

fn padded(
    at: Place,
    (src, axis): (NodeRef, u8),
    margins: [NodeRef; 2],
    boundary: Boundary<NodeRef>,
) -> NodeRef {
    if margins.iter().all(|n| matches!(n.op, Op::Const(zero) if zero == Lit::i64(0))) {
        return src;
    }
    make(at, src.ty, Op::Pad { src, axis, margins, boundary })
}
