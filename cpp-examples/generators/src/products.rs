//! Matrix products, alone, of batches, and with what a layer of a network does behind them.

use arraygpu::prelude::*;

/// What the C++ header says of [`product`].
pub const PRODUCT_DOC: &str = "The product of two matrices.";

/// In the fixed order, or by tensor cores with `.tensor_cores()` behind it.
pub fn product<T: Num>(a: MExp<T>, b: MExp<T>) -> MExp<T> {
    a.matmul(b)
}

/// What the C++ header says of [`transposed`].
pub const TRANSPOSED_DOC: &str = "The product of a matrix and another one transposed.";

/// Rows by rows, as weights often lie in memory.
pub fn transposed<T: Num>(a: MExp<T>, b: MExp<T>) -> MExp<T> {
    a.matmul(b.transpose())
}

/// What the C++ header says of [`bias_gelu`].
pub const BIAS_GELU_DOC: &str =
    "gelu(a b + bias) with the error function; what follows the product is computed in f32.";

/// A layer: it is one launch.
pub fn bias_gelu<T: Num>(a: MExp<T>, b: MExp<T>, bias: VExp<T>) -> MExp<T> {
    let x = a.matmul(b).cast::<f32>() + bias.cast::<f32>().broadcast_rows(a.rows());
    (x * 0.5 * ((x * std::f32::consts::FRAC_1_SQRT_2).erf() + 1.0)).cast::<T>()
}

/// What the C++ header says of [`batches`].
pub const BATCHES_DOC: &str = "The product of each plane with the same plane of the other array.";

/// One launch for all planes.
pub fn batches<T: Num>(a: TExp<T>, b: TExp<T>) -> TExp<T> {
    a.matmul(b)
}
