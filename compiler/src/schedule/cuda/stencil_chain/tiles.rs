//! The tiles of a chain of stencils: which rows and columns of each stage a block has in shared memory, how its
//! threads share the elements, and the predicted time, by which the size of tiles is chosen. Sizes are found from the
//! last stage backwards: a stage's tile covers what the taps of its readers' tiles reach.

use crate::core::NodeId;
use crate::kernel::WARP;
use crate::schedule::cpu::stencil_chain::StageRows;
use crate::schedule::cuda::register_tiling;
use crate::schedule::cuda::register_tiling::placement::{Line, PlaneTiling};
use crate::schedule::cuda::stencil_cost;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::{ChainStage, StencilChain};
use indexmap::IndexSet;

/// Threads of a block.
pub const THREADS: u32 = 256;

/// The bytes of static shared memory that a block may use on every device.
const MAX_BYTES: i64 = 48 << 10;

/// The maximum number of columns of a thread.
const MAX_COLUMNS: i64 = 4;

/// The numbers of rows of a thread in the last stage, in order of preference.
const ROWS: [i64; 3] = [8, 4, 2];

/// The maximum number of words of registers for the lines that a thread needs at once.
const MAX_WORDS: i64 = 96;

/// The maximum number of words of registers for the lines of a part whose rows share no lines, if all of these are
/// loaded before the first row is computed.
const MAX_WORDS_OF_ROWS: i64 = 44;

/// The minimum number of resident blocks per multiprocessor, with which a thread has 64 registers.
const RESIDENT_BLOCKS: u32 = 4;
/// The minimum number of resident blocks where an element at the edges has more than `LONG_EDGES` operations. A
/// thread then has 80 registers: such an element loads all its operands before it computes.
const LONG_EDGES: u32 = 300;
const RESIDENT_BLOCKS_OF_LONG_EDGES: u32 = 3;

/// The time of a chain whose stages have code for edges, relative to one without (17 taps on an H100: 0.245 and 0.209
/// ms).
const EDGES: f64 = 1.17;
/// Tiles are chosen where their predicted time is below this fraction of the predicted time of recomputing every
/// stage. It is below 1 because the predictions are not exact.
const MARGIN: f64 = 0.95;

/// The number of rows, and of columns, that a thread computes together in a launch that recomputes all stages in
/// registers.
const REGISTER_TILE: i64 = 4;

/// What a block computes in one stage. Rows and columns are relative to the block's first element of the last stage.
#[derive(Clone)]
pub struct StageTile {
    /// The first row and column.
    pub first: [i64; 2],
    /// The number of rows and columns.
    pub size: [i64; 2],
    /// The rows of a thread's part; its columns are the vector width.
    pub thread_rows: i64,
    /// The lines that a thread loads for its part.
    pub lines: Vec<Line>,
    /// Whether all lines are loaded before the first row is computed.
    pub loads_first: bool,
}

/// The tiles of all stages. The last stage's tile is the block's part of the results and has no halo.
#[derive(Clone)]
pub struct ChainTiles {
    /// The tile of each stage.
    pub tiles: Vec<StageTile>,
    /// How the last stage is cut into the parts of threads.
    pub tiling: PlaneTiling,
    /// Whether elements at the edges have many operations.
    pub has_long_edges: bool,
}

impl ChainTiles {
    /// Returns the fastest tiles that fit into shared memory. Returns `None` if none do, or if a launch for each
    /// stage takes less time than the one launch.
    pub fn of(l: &mut LaunchContext, chain: &StencilChain) -> Option<ChainTiles> {
        let size = |l: &LaunchContext, x: NodeId| l.g.ty(x).elem.size() as i64;
        let arrays = chain
            .stages
            .iter()
            .flat_map(|s| s.fused.items.iter().map(|it| it.node).chain(s.stencils.iter().map(|s| s.array)));
        let widest = arrays.map(|x| size(l, x)).max()?;
        let v = (16 / widest).min(MAX_COLUMNS);
        let apart: f64 =
            chain.stages.iter().map(|s| time(bytes(l, std::slice::from_ref(s)), s.cost, 1.0)).sum();
        let mut best: Option<(f64, ChainTiles)> = None;
        for rows in ROWS {
            let Some(tiles) = ChainTiles::with_rows(l, chain, rows, v) else { continue };
            let at_once = tiles.time(l, chain);
            if at_once < apart && best.as_ref().is_none_or(|b| at_once < b.0) {
                best = Some((at_once, tiles));
            }
        }
        best.map(|b| b.1)
    }

    fn with_rows(l: &mut LaunchContext, chain: &StencilChain, rows: i64, v: i64) -> Option<ChainTiles> {
        let tiling = PlaneTiling::new(rows, v, true, THREADS);
        let (last, before) = chain.stages.split_last()?;
        let own = [tiling.block_rows, tiling.block_columns];
        let lines = lines(l, last, rows, tiling)?;
        let mut tiles =
            vec![StageTile { first: [0, 0], size: own, thread_rows: rows, lines, loads_first: false }];
        let mut edges = chain.stages.iter().flat_map(|s| &s.beyond);
        let has_long_edges = edges.any(|e| e.operations > LONG_EDGES);
        let mut bytes = 0;
        for (at, stage) in before.iter().enumerate().rev() {
            // `tiles` has the tiles of the stages after this one, in order
            let readers = chain.stages[at + 1..].iter().zip(&tiles);
            let [mut rows, mut columns] = [(i64::MAX, i64::MIN); 2];
            for (reader, tile) in readers {
                let is_mine = |x: NodeId| stage.fused.items.iter().any(|it| it.node == x);
                for s in reader.stencils.iter().filter(|s| is_mine(s.array)) {
                    for (axis, reach) in [&mut rows, &mut columns].into_iter().enumerate() {
                        let (least, most) = s.reach(axis);
                        reach.0 = reach.0.min(tile.first[axis] + least);
                        reach.1 = reach.1.max(tile.first[axis] + tile.size[axis] + most);
                    }
                }
            }
            if rows.0 > rows.1 {
                return None;
            }
            let left = columns.0.div_euclid(v) * v;
            let width = (columns.1 - left + v - 1).div_euclid(v) * v;
            let tile = stage_tile(l, stage, [rows.0, left], [rows.1 - rows.0, width], tiling)?;
            let elements = tile.size[0] * tile.size[1];
            bytes += stage
                .fused
                .items
                .iter()
                .map(|it| elements * l.g.ty(it.node).elem.size() as i64 + 16)
                .sum::<i64>();
            tiles.insert(0, tile);
        }
        (bytes <= MAX_BYTES).then_some(ChainTiles { tiles, tiling, has_long_edges })
    }

    /// Whether the chain takes less time than one launch with register tiling that recomputes every stage where it is
    /// read. `needed` is how far around an element that launch needs each stage.
    pub fn beats_whole(&self, l: &LaunchContext, chain: &StencilChain, needed: &[StageRows]) -> bool {
        let side = REGISTER_TILE as f64;
        let again = |(first, last): (i64, i64)| (side + (last - first) as f64) / side;
        let stages = chain.stages.iter().zip(needed);
        let instructions: f64 = stages
            .map(|(s, own)| stencil_cost::of_operations(s.cost) * again(own.rows) * again(own.columns))
            .sum();
        let whole = stencil_cost::of_both(bytes(l, &chain.stages), instructions);
        let (_, before) = chain.stages.split_last().expect("a chain has stages");
        let has_edges = chain.stages.iter().any(|s| s.has_edges && s.inner.has_boundary())
            || before.iter().any(|s| !s.is_plain());
        let edges = if has_edges { EDGES } else { 1.0 };
        edges * self.time(l, chain) < MARGIN * whole
    }

    /// Returns the predicted time for 2^26 elements.
    fn time(&self, l: &LaunchContext, chain: &StencilChain) -> f64 {
        let own = self.tiling.block_rows * self.tiling.block_columns;
        let redundant = |tile: &StageTile| (tile.size[0] * tile.size[1]) as f64 / own as f64;
        let stages = chain.stages.iter().zip(&self.tiles);
        let instructions: f64 =
            stages.map(|(s, tile)| stencil_cost::of_operations(s.cost) * redundant(tile)).sum();
        stencil_cost::of_both(bytes(l, &chain.stages), instructions)
    }

    /// Returns the number of rows and of columns of a block.
    pub fn block(&self) -> [i64; 2] {
        [self.tiling.block_rows, self.tiling.block_columns]
    }

    /// Returns the minimum number of resident blocks per multiprocessor.
    pub fn min_resident_blocks(&self) -> u32 {
        if self.has_long_edges { RESIDENT_BLOCKS_OF_LONG_EDGES } else { RESIDENT_BLOCKS }
    }
}

/// Returns the tile of a stage whose readers need these rows and columns. It is padded to whole parts; a part has the
/// number of rows for which the block takes the fewest predicted cycles.
fn stage_tile(
    l: &mut LaunchContext,
    stage: &ChainStage,
    first: [i64; 2],
    size: [i64; 2],
    tiling: PlaneTiling,
) -> Option<StageTile> {
    let is_row = stage.stencils.iter().all(|s| s.reach(0).0 == s.reach(0).1);
    // rows that share no lines are computed two at a time, so that more loads are in flight
    let possible = if is_row { vec![2, 1] } else { (1..=8).collect() };
    let mut best: Option<(i64, StageTile)> = None;
    for thread_rows in possible {
        let rows = (size[0] + thread_rows - 1) / thread_rows * thread_rows;
        let Some(lines) = lines(l, stage, thread_rows, tiling) else { continue };
        let parts = rows / thread_rows * (size[1] / tiling.v);
        let turns = (parts + i64::from(THREADS) - 1) / i64::from(THREADS);
        // the cycles of a warp: each of its accesses takes 128 bytes, and four schedulers share its operations
        let accesses = |line: &Line| {
            let size = l.g.ty(line.array).elem.size() as i64;
            line.pieces.iter().map(|p| (p.1 * size * i64::from(WARP) / 128).max(1)).sum::<i64>()
        };
        let accesses: i64 = lines.iter().map(accesses).sum();
        let each = accesses + i64::from(stage.cost) * thread_rows * tiling.v / 4;
        let loads_first = is_row && lines.iter().map(|line| words(l, line)).sum::<i64>() <= MAX_WORDS_OF_ROWS;
        if is_row && thread_rows > 1 && !loads_first {
            continue;
        }
        let tile = StageTile { first, size: [rows, size[1]], thread_rows, lines, loads_first };
        if best.as_ref().is_none_or(|b| turns * each < b.0) {
            best = Some((turns * each, tile));
        }
    }
    best.map(|b| b.1)
}

/// Returns the lines that a thread loads for a part of `thread_rows` rows. A stencil of `height` rows needs the share
/// `height / (thread_rows + height - 1)` of all lines at the same time; returns `None` if these take too many
/// registers.
fn lines(l: &LaunchContext, stage: &ChainStage, thread_rows: i64, tiling: PlaneTiling) -> Option<Vec<Line>> {
    let mine = stage.stencils.iter().filter(|s| s.is_static(&l.g));
    let tiling = PlaneTiling { thread_rows, ..tiling };
    let height = mine.clone().map(|s| s.reach(0).1 - s.reach(0).0 + 1).max().unwrap_or(1);
    let mut lines: Vec<Line> = mine.flat_map(|s| register_tiling::lines(l, s, tiling)).collect();
    lines.sort_by_key(Line::row);
    let all: i64 = lines.iter().map(|line| words(l, line)).sum();
    (all * height / (thread_rows + height - 1) <= MAX_WORDS).then_some(lines)
}

/// Returns the words of registers of a line.
fn words(l: &LaunchContext, line: &Line) -> i64 {
    let size = l.g.ty(line.array).elem.size() as i64;
    line.pieces.iter().map(|p| (p.1 * size + 3) / 4).sum()
}

/// Returns the bytes of global memory that a launch of these stages reads and writes for each element of the last
/// one.
fn bytes(l: &LaunchContext, stages: &[ChainStage]) -> f64 {
    let own: IndexSet<NodeId> = stages.iter().flat_map(|s| s.fused.items.iter().map(|it| it.node)).collect();
    let read = stages.iter().flat_map(|s| s.stencils.iter().map(|s| s.array));
    let read: IndexSet<NodeId> = read.filter(|x| !own.contains(x)).collect();
    let stored = stages.last().map_or(&[][..], |s| &s.fused.items).iter().map(|it| it.node);
    read.into_iter().chain(stored).map(|x| l.g.ty(x).elem.size() as f64).sum()
}

fn time(bytes: f64, operations: u32, redundancy: f64) -> f64 {
    stencil_cost::of_both(bytes, stencil_cost::of_operations(operations) * redundancy)
}
