//! The shape of block tiles and thread tiles of a product.

use crate::kernel::Expr;
use crate::scalar::BinaryOp;
use crate::schedule::cuda::expressions::int32;

/// A block tile: its rows (side 0), its columns (side 1) and its depth.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BlockTile {
    pub sides: [TileSide; 2],
    /// The number of inner indices of one step of the K loop.
    pub depth: i64,
    /// The vector width of accesses.
    pub v: i64,
    /// Whether the sums of panels are in shared memory.
    pub sums_shared: bool,
    /// The number of buffers of each side, a power of two: one for the step that is being computed, the others for
    /// the steps that are loaded meanwhile.
    pub stages: i64,
    /// Whether rows of arrays may begin anywhere and have any strides. Each global access is then of one element.
    pub any_strides: bool,
    /// Whether blocks at the edges run the same code as others. In place of rows and columns beyond an edge they load
    /// the last ones once more, and do not store the results of these.
    pub clamped: bool,
}

/// Which values of a side are neighbours in shared memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Those of neighbouring rows (or columns).
    AlongSide,
    /// Those of neighbouring inner indices.
    AlongK,
}

/// One side of a block tile. All sizes are powers of two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TileSide {
    pub size: i64,
    /// The number of threads along this side.
    pub threads: i64,
    /// Whether this is the short side of a skinny tile. It may be longer than the matrix, so its values are loaded
    /// one by one, each with a bounds check.
    pub skinny: bool,
}

impl TileSide {
    /// Returns the number of rows, or columns, of a thread.
    pub fn per_thread(self) -> i64 {
        self.size / self.threads
    }
}

impl BlockTile {
    fn of(sides: [TileSide; 2], depth: i64, v: i64) -> BlockTile {
        BlockTile { sides, depth, v, sums_shared: false, stages: 2, any_strides: false, clamped: false }
    }

    /// Returns a square block tile of 16 x 16 threads. Each thread loads one vector of each side in
    /// a step.
    pub fn square(size: i64, v: i64) -> BlockTile {
        let side = TileSide { size, threads: 16, skinny: false };
        let depth = 256 * v / size;
        BlockTile::of([side; 2], depth, v)
    }

    /// Returns a square block tile of 64 x 64 results and 8 x 8 threads, with thread tiles of 8 x
    /// 8.
    pub fn square_8x8_per_thread(v: i64) -> BlockTile {
        let side = TileSide { size: 64, threads: 8, skinny: false };
        BlockTile { sums_shared: true, ..BlockTile::of([side; 2], 16, v) }
    }

    /// Returns a square block tile of 128 x 128 results and 8 x 16 threads, with thread tiles of 16 x 8. They have
    /// the most multiplications for each value that is loaded from shared memory.
    pub fn square_16x8_per_thread(v: i64) -> BlockTile {
        let side = |threads| TileSide { size: 128, threads, skinny: false };
        BlockTile { sums_shared: true, ..BlockTile::of([side(8), side(16)], 16, v) }
    }

    /// Returns a skinny block tile, whose side `long` is long and whose other side has `short` rows or columns. A
    /// thread has one row (`long` = 0), or `v` columns (`long` = 1). Each step loads 128 bytes of a row: with 64
    /// bytes, reading memory takes 1.5 times as long.
    pub fn skinny(long: usize, short: i64, v: i64, depth: i64) -> BlockTile {
        let mut sides = [TileSide { size: short, threads: 1, skinny: true }; 2];
        let size = if long == 0 { 64 } else { 64 * v };
        sides[long] = TileSide { size, threads: 64, skinny: false };
        BlockTile::of(sides, depth, v)
    }

    /// Returns a skinny block tile of 32 long rows, of each of which a step copies 256 bytes. Copies begin three
    /// steps ahead, so that each warp has 24 KB on their way.
    pub fn skinny_copied(short: i64, v: i64) -> BlockTile {
        let sides = [
            TileSide { size: 32, threads: 32, skinny: false },
            TileSide { size: short, threads: 1, skinny: true },
        ];
        BlockTile { stages: 4, clamped: true, ..BlockTile::of(sides, 16 * v, v) }
    }

    /// Returns the skinny block tile of which a step copies 512 bytes of each row, one step ahead. This reads memory
    /// faster, but the last, partial step, which is read element by element, may be twice as long.
    pub fn skinny_copied_by_512(short: i64, v: i64) -> BlockTile {
        BlockTile { stages: 2, depth: 32 * v, ..BlockTile::skinny_copied(short, v) }
    }

    /// Returns the block tile for arrays of any strides and alignment. Addresses of single elements take registers,
    /// so large thread tiles have half the depth.
    pub fn for_any_strides(self) -> BlockTile {
        let has_room = self.area() <= 64 * self.threads();
        let depth = if has_room { self.depth } else { self.depth / 2 };
        BlockTile { any_strides: true, clamped: true, depth, ..self }
    }

    /// Returns the number of threads of a block.
    pub fn threads(self) -> i64 {
        self.sides[0].threads * self.sides[1].threads
    }

    /// Returns the number of results of a block.
    pub fn area(self) -> i64 {
        self.sides[0].size * self.sides[1].size
    }

    /// Returns how many of a thread's results are neighbours along a side.
    pub fn group(self, side: usize) -> i64 {
        self.v.min(self.sides[side].per_thread())
    }

    /// Returns the offset of the thread's `r`-th row or column from its first. A thread's groups are as far apart as
    /// all threads' groups take together, so that no two lanes access the same bank of shared memory.
    pub fn offset(self, side: usize, r: i64) -> i64 {
        let group = self.group(side);
        r / group * self.sides[side].threads * group + r % group
    }

    /// Returns the same offset for a row or column whose number (i32) only the kernel knows.
    pub fn offset_of(self, side: usize, r: Expr) -> Expr {
        let (group, threads) = (self.group(side), self.sides[side].threads);
        if group == self.sides[side].per_thread() {
            return r;
        }
        let shift = int32(group.ilog2() as i32);
        let number = Expr::binary(BinaryOp::Shr, r.clone(), shift);
        let rest = Expr::binary(BinaryOp::And, r, int32(group as i32 - 1));
        number.times(int32((threads * group) as i32)).plus(rest)
    }

    /// Returns the distances in shared memory from one row (or column) to the next, and from one inner index to the
    /// next. Padding keeps vectors aligned, and keeps transposed stores and loads along the inner index free of bank
    /// conflicts.
    pub fn pitches(self, side: usize, along_k: bool, layout: Layout) -> [i64; 2] {
        if layout == Layout::AlongK {
            return [self.depth + self.v, 1];
        }
        let pad_by_one = along_k && self.group(side) == 1;
        [1, self.sides[side].size + if pad_by_one { 1 } else { self.v }]
    }

    /// Returns the vector width of the loads of one side.
    pub fn vector(self, side: usize) -> i64 {
        if self.sides[side].skinny || self.any_strides { 1 } else { self.v }
    }

    /// Returns the number of vectors of one side that a thread loads in a step, and whether every
    /// thread has one.
    pub fn vectors(self, side: usize) -> (i64, bool) {
        let all = self.sides[side].size * self.depth / self.vector(side);
        ((all / self.threads()).max(1), all >= self.threads())
    }
}
