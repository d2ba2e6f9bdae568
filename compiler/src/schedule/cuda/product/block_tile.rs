//! What of a product's results a block has, and which of them a thread.

/// A block's results: rows (side 0) and columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BlockTile {
    pub sides: [TileSide; 2],
    /// Indices of the sum in a step.
    pub depth: i64,
    /// Neighbours of one access.
    pub v: i64,
    /// The sums of panels lie in shared memory.
    pub sums_shared: bool,
}

/// One side of it. All figures are powers of two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TileSide {
    pub size: i64,
    /// Threads along it.
    pub threads: i64,
    /// A border of a whole matrix, perhaps: its values are read one by one, and compared with the
    /// end.
    pub skinny: bool,
}

impl TileSide {
    /// Rows, or columns, of a thread.
    pub fn per_thread(self) -> i64 {
        self.size / self.threads
    }
}

impl BlockTile {
    /// A square by 16 x 16 threads, each of which reads one vector of each side a step.
    pub fn square(size: i64, v: i64) -> BlockTile {
        let side = TileSide { size, threads: 16, skinny: false };
        BlockTile { sides: [side; 2], depth: 256 * v / size, v, sums_shared: false }
    }

    /// A square of 64 by 8 x 8 threads, which have 8 x 8 results each.
    pub fn square_8x8_per_thread(v: i64) -> BlockTile {
        let side = TileSide { size: 64, threads: 8, skinny: false };
        BlockTile { sides: [side; 2], depth: 16, v, sums_shared: true }
    }

    /// A thread a row (`long` = 0), or `v` columns: of the other side there are few.
    /// Rows are read by 128 bytes each: by 64 a pass over memory takes half as long again.
    pub fn skinny(long: usize, short: i64, v: i64, depth: i64) -> BlockTile {
        let mut sides = [TileSide { size: short, threads: 1, skinny: true }; 2];
        let size = if long == 0 { 64 } else { 64 * v };
        sides[long] = TileSide { size, threads: 64, skinny: false };
        BlockTile { sides, depth, v, sums_shared: false }
    }

    /// Threads of a block.
    pub fn threads(self) -> i64 {
        self.sides[0].threads * self.sides[1].threads
    }

    /// Results of a block.
    pub fn area(self) -> i64 {
        self.sides[0].size * self.sides[1].size
    }

    /// A thread's results that lie side by side.
    pub fn group(self, side: usize) -> i64 {
        self.v.min(self.sides[side].per_thread())
    }

    /// Where among the block's rows or columns the thread's `r`-th lies, beside its place. Groups
    /// lie as far apart as all threads' together: no two lanes meet in a bank of shared memory.
    pub fn offset(self, side: usize, r: i64) -> i64 {
        let group = self.group(side);
        r / group * self.sides[side].threads * group + r % group
    }

    /// Elements from one inner index to the next in shared memory: a shift that keeps vectors
    /// aligned and transposed stores off each other's banks.
    pub fn pitch(self, side: usize, along_k: bool) -> i64 {
        let pad_by_one = along_k && self.group(side) == 1;
        self.sides[side].size + if pad_by_one { 1 } else { self.v }
    }

    /// Neighbours that are read at once of one side.
    pub fn vector(self, side: usize) -> i64 {
        if self.sides[side].skinny { 1 } else { self.v }
    }

    /// Vectors of a step that a thread reads of one side, and whether each thread has one.
    pub fn vectors(self, side: usize) -> (i64, bool) {
        let all = self.sides[side].size * self.depth / self.vector(side);
        ((all / self.threads()).max(1), all >= self.threads())
    }
}
