//! Arrays of the plain references, in f64, and the inputs of programs.

use std::ops::{Index, IndexMut};

/// An array of any rank; a scalar has no extents.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Array {
    /// The extents, outermost first.
    pub extents: Vec<usize>,
    /// The elements in row-major order.
    pub elements: Vec<f64>,
}

impl Array {
    /// A scalar.
    pub fn scalar(x: f64) -> Array {
        Array { extents: vec![], elements: vec![x] }
    }

    /// The vector of the values of `f`.
    pub fn vector(n: usize, f: impl FnMut(usize) -> f64) -> Array {
        Array { extents: vec![n], elements: (0..n).map(f).collect() }
    }

    /// The matrix of the values of `f`.
    pub fn matrix(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> f64) -> Array {
        let elements = (0..rows * cols).map(|k| f(k / cols, k % cols)).collect();
        Array { extents: vec![rows, cols], elements }
    }

    /// The array of three dimensions of the values of `f`.
    pub fn tensor(extents: [usize; 3], mut f: impl FnMut(usize, usize, usize) -> f64) -> Array {
        let [planes, rows, cols] = extents;
        let value = |k: usize| f(k / (rows * cols), k / cols % rows, k % cols);
        Array { extents: extents.to_vec(), elements: (0..planes * rows * cols).map(value).collect() }
    }

    /// The number of elements of a vector.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The number of rows of a matrix or of an array of three dimensions.
    pub fn rows(&self) -> usize {
        self.extents[self.extents.len() - 2]
    }

    /// The number of columns.
    pub fn cols(&self) -> usize {
        self.extents[self.extents.len() - 1]
    }

    /// The number of planes.
    pub fn planes(&self) -> usize {
        self.extents[0]
    }

    /// The value of a scalar.
    pub fn value(&self) -> f64 {
        self.elements[0]
    }

    /// A row of a matrix.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.elements[i * self.cols()..(i + 1) * self.cols()]
    }

    /// A column of a matrix.
    pub fn col(&self, j: usize) -> Vec<f64> {
        (0..self.rows()).map(|i| self[[i, j]]).collect()
    }

    /// The element of a matrix nearest to an index that may be outside.
    pub fn clamped(&self, i: i64, j: i64) -> f64 {
        let inside = |i: i64, n: usize| i.clamp(0, n as i64 - 1) as usize;
        self[[inside(i, self.rows()), inside(j, self.cols())]]
    }

    /// The element of a torus.
    pub fn wrapped(&self, i: i64, j: i64) -> f64 {
        let inside = |i: i64, n: usize| i.rem_euclid(n as i64) as usize;
        self[[inside(i, self.rows()), inside(j, self.cols())]]
    }

    /// The element of a matrix, or a value outside.
    pub fn or(&self, i: i64, j: i64, outside: f64) -> f64 {
        let is_inside = |i: i64, n: usize| (0..n as i64).contains(&i);
        match is_inside(i, self.rows()) && is_inside(j, self.cols()) {
            true => self[[i as usize, j as usize]],
            false => outside,
        }
    }

    /// The array of the values of `f` for the elements.
    pub fn map(&self, f: impl FnMut(f64) -> f64) -> Array {
        Array { extents: self.extents.clone(), elements: self.elements.iter().copied().map(f).collect() }
    }
}

impl Index<usize> for Array {
    type Output = f64;
    fn index(&self, i: usize) -> &f64 {
        &self.elements[i]
    }
}

impl Index<[usize; 2]> for Array {
    type Output = f64;
    fn index(&self, [i, j]: [usize; 2]) -> &f64 {
        assert!(i < self.rows() && j < self.cols());
        &self.elements[i * self.cols() + j]
    }
}

impl IndexMut<usize> for Array {
    fn index_mut(&mut self, i: usize) -> &mut f64 {
        &mut self.elements[i]
    }
}

impl IndexMut<[usize; 2]> for Array {
    fn index_mut(&mut self, [i, j]: [usize; 2]) -> &mut f64 {
        assert!(i < self.rows() && j < self.cols());
        let at = i * self.cols() + j;
        &mut self.elements[at]
    }
}

impl Index<[usize; 3]> for Array {
    type Output = f64;
    fn index(&self, [k, i, j]: [usize; 3]) -> &f64 {
        assert!(k < self.planes() && i < self.rows() && j < self.cols());
        &self.elements[(k * self.rows() + i) * self.cols() + j]
    }
}

/// What a reference computes: one array for each result of the program.
pub trait Expected {
    /// The results in order.
    fn arrays(self) -> Vec<Array>;
}

impl Expected for Array {
    fn arrays(self) -> Vec<Array> {
        vec![self]
    }
}

impl Expected for f64 {
    fn arrays(self) -> Vec<Array> {
        vec![Array::scalar(self)]
    }
}

impl Expected for Vec<f64> {
    fn arrays(self) -> Vec<Array> {
        vec![Array { extents: vec![self.len()], elements: self }]
    }
}

impl Expected for Vec<Array> {
    fn arrays(self) -> Vec<Array> {
        self
    }
}

impl<A: Expected, B: Expected> Expected for (A, B) {
    fn arrays(self) -> Vec<Array> {
        [self.0.arrays(), self.1.arrays()].concat()
    }
}

impl<A: Expected, B: Expected, C: Expected> Expected for (A, B, C) {
    fn arrays(self) -> Vec<Array> {
        [self.0.arrays(), self.1.arrays(), self.2.arrays()].concat()
    }
}

/// An input of a program: its extents, and its elements from the numbers that are tried.
pub struct Input {
    /// The extents, outermost first; none for a scalar.
    pub extents: Vec<usize>,
    /// The element at a place, from a number in [-2, 2).
    element: Box<dyn Fn(usize, f64) -> f64>,
}

/// A vector of numbers in [-2, 2), all multiples of 1 / 64.
pub fn v(n: usize) -> Input {
    Input { extents: vec![n], element: Box::new(|_, x| x) }
}

/// A matrix of such numbers.
pub fn m(rows: usize, cols: usize) -> Input {
    Input { extents: vec![rows, cols], element: Box::new(|_, x| x) }
}

/// An array of three dimensions of such numbers.
pub fn t(planes: usize, rows: usize, cols: usize) -> Input {
    Input { extents: vec![planes, rows, cols], element: Box::new(|_, x| x) }
}

/// A scalar.
pub fn s(value: f64) -> Input {
    Input { extents: vec![], element: Box::new(move |_, _| value) }
}

impl Input {
    /// Its elements are other numbers: `f` of each.
    pub fn of(self, f: impl Fn(f64) -> f64 + 'static) -> Input {
        Input { extents: self.extents, element: Box::new(move |k, x| f((self.element)(k, x))) }
    }

    /// Numbers from 1/4 to 9/4.
    pub fn positive(self) -> Input {
        self.of(|x| x.abs() + 0.25)
    }

    /// Numbers in [0, 1).
    pub fn unit(self) -> Input {
        self.of(|x| (x + 2.0) / 4.0)
    }

    /// Whole numbers from 0 up to, not including, n.
    pub fn below(self, n: i32) -> Input {
        self.of(move |x| ((x + 2.0) / 4.0 * f64::from(n)).floor())
    }

    /// The element at each place (in row-major order).
    pub fn at(self, f: impl Fn(usize) -> f64 + 'static) -> Input {
        Input { extents: self.extents, element: Box::new(move |k, _| f(k)) }
    }

    /// The input as the program's parameter number `seed`.
    pub fn array(&self, seed: u64) -> Array {
        self.sized(seed, self.extents.clone())
    }

    /// The input with other extents.
    pub fn sized(&self, seed: u64, extents: Vec<usize>) -> Array {
        let number = |k: usize| {
            let mixed = (k as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
                ^ (seed + 1).wrapping_mul(0xD1B5_4A32_D192_ED03);
            let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            ((mixed >> 40) % 256) as f64 / 64.0 - 2.0
        };
        let count = extents.iter().product();
        let elements = (0..count).map(|k| (self.element)(k, number(k))).collect();
        Array { extents, elements }
    }
}
