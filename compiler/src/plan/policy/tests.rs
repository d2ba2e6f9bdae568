//! Decisions of the launch policy.

use super::spread::{doubled, of_team};
use super::{Device, KernelLaunch, Layout, Scratch, Space};
use crate::kernel::MAX_SHARED_ANYWHERE;
use crate::plan::gpu;
use crate::scalar::Ty;
use std::cell::Cell;

const H100: Device = Device { multiprocessors: 132, capability: 90 };

#[test]
fn only_devices_that_have_clusters_run_them() {
    let text = "gpu @rows {
  version clusters threads 256 clusters 4 shortest 32769 narrow capability 90 longest 65536
}";
    let kernel = &gpu::parse(text).unwrap()[0];
    assert_eq!(kernel.to_string().trim(), text);
    let chosen = |length, capability| {
        let (space, device) = (Space { extents: &[3], inner_length: length }, Device { capability, ..H100 });
        kernel.choose(&space, 1, device, |_| None, || false, &[])
    };
    assert_eq!([80, 89, 90, 100].map(|c| chosen(40_000, c)), [None, None, Some(0), Some(0)]);
    assert_eq!([32_768, 32_769, 65_536, 65_537].map(|n| chosen(n, 90)), [None, Some(0), Some(0), None]);
    let launch = KernelLaunch { variant: 0, blocks: 12, span: None };
    let space = Space { extents: &[3], inner_length: 40_000 };
    assert_eq!(kernel.decide(0, &space, H100).kernels().collect::<Vec<_>>(), [launch]);
}

#[test]
fn shared_memory_is_asked_for_where_two_blocks_have_room() {
    let text = "gpu @m {
  version largest threads 128 shared 99328 plane 128 by 128 contiguous
  version any threads 256 plane 64 by 64
}";
    let kernel = &gpu::parse(text).unwrap()[0];
    assert_eq!(kernel.to_string().trim(), text);
    let space = Space { extents: &[4096, 4096], inner_length: 4096 };
    let chosen =
        |capability| kernel.choose(&space, 1, Device { capability, ..H100 }, |_| None, || false, &[]);
    assert_eq!([80, 89, 90, 100, 120].map(chosen), [Some(1), Some(1), Some(0), Some(0), Some(1)]);
    // 264 blocks are resident at once: 1024 are nearly four rounds, 576 are two and a fifth
    let of = |n: u64| {
        let space = Space { extents: &[n, n], inner_length: n };
        kernel.choose(&space, 1, H100, |_| None, || false, &[])
    };
    assert_eq!([1024, 2048, 3072, 4096].map(of), [Some(1), Some(0), Some(1), Some(0)]);
    assert!(gpu::parse(&text.replace("99328", &(MAX_SHARED_ANYWHERE + 1).to_string())).is_err());
}

#[test]
fn operands_are_packed_where_the_products_keep_the_device_busy() {
    let text = "gpu @m {
  version m_packs threads 256 packs 4 shortest 256 tall 704 wide 704 busy 55
  version m_packed threads 256 shared 196608 packed 128 by 256 architecture 90
  version any threads 256 plane 64 by 64
}";
    let kernel = &gpu::parse(text).unwrap()[0];
    assert_eq!(kernel.to_string().trim(), text);
    let chosen = |m: u64, n: u64| {
        let space = Space { extents: &[m, n], inner_length: 1024 };
        kernel.choose(&space, 1, H100, |_| None, || false, &[])
    };
    // 256 tiles are two rounds of 132, 32 tiles a quarter of one, and 136 half of two
    assert_eq!(chosen(8192, 1024), Some(0));
    assert_eq!(chosen(1024, 8192), Some(0));
    assert_eq!(chosen(1024, 1024), Some(2));
    assert_eq!(chosen(17 * 128, 8 * 256), Some(2));
    assert_eq!(chosen(8192, 512), Some(2));
}

#[test]
fn tiles_of_segments_that_share_elements_have_indices_of_64_bits() {
    let text = "gpu @s {
  version s threads 256 chunks 1 to 16 contiguous narrow
  version s_wide threads 256 chunks 1 to 16 contiguous
}";
    let kernel = &gpu::parse(text).unwrap()[0];
    let chosen = |n: u64| {
        let space = Space { extents: &[n], inner_length: 1 << 24 };
        kernel.choose(&space, 1, H100, |_| None, || false, &[])
    };
    assert_eq!([1 << 17, 1 << 18].map(chosen), [Some(0), Some(1)]);
}

#[test]
fn variants_for_other_lengths_look_at_no_array() {
    let versions: String = [32, 64, 256, 1024, 4096].map(version).concat();
    let (all, one) = (format!("gpu @rows {{\n{versions}}}"), format!("gpu @rows {{\n{}}}", version(4096)));
    let looks = |text: &str, length| {
        let kernel = &gpu::parse(text).unwrap()[0];
        assert_eq!(kernel.to_string().trim(), text);
        let dense = Layout { extents: &[9, 9], strides: &[9, 1], size: 4, address: 0 };
        let count = Cell::new(0);
        let array = |i: usize| {
            count.set(count.get() + 1);
            (i < 2).then_some(dense)
        };
        let space = Space { extents: &[1 << 16], inner_length: length };
        (kernel.choose(&space, 1, H100, array, || false, &[]), count.get())
    };
    let (chosen, counted) = looks(&all, 4096);
    assert_eq!((chosen, counted), (Some(4), looks(&one, 4096).1));
    assert!(counted > 0);
    assert_eq!(looks(&all, 5000), (None, 0));
}

/// Returns the text of a variant for segments of up to that length.
fn version(longest: u32) -> String {
    format!("  version r{longest} threads 128 segments 4 contiguous narrow longest {longest}\n")
}

/// Returns which variant of a kernel an H100 runs for a launch over these extents, whose elements are segments of
/// that length.
fn chosen(text: &str, extents: &[u64], inner_length: u64) -> Option<usize> {
    let kernel = &gpu::parse(text).unwrap()[0];
    assert_eq!(kernel.to_string().trim(), text);
    kernel.choose(&Space { extents, inner_length }, 1, H100, |_| None, || false, &[])
}

#[test]
fn wide_strips_are_for_enough_columns() {
    let text = "gpu @s {
  version wide threads 256 strips 128, 1 to 16 busy 51
  version narrow threads 256 strips 32, 1 to 16
}";
    let of = |columns: u64, rows: u64| chosen(text, &[columns], rows);
    // half of the lanes of 512 blocks, of which there is room for 528, have columns; then three quarters
    assert_eq!([64, 96, 128].map(|n| of(n, 1 << 20)), [Some(1), Some(0), Some(0)]);
    // 128, 256 and 512 blocks: at most 128 share the rows of a strip
    assert_eq!([128, 256, 512].map(|n| of(n, 1 << 16)), [Some(1), Some(1), Some(0)]);
    assert_eq!([1 << 14, 1 << 20].map(|n| of(n, 1024)), [Some(0); 2]);
}

#[test]
fn large_blocks_are_for_enough_of_them() {
    let text = "gpu @s {
  version tiles threads 256 plane 32 by 128 busy 51
  version any threads 256 plane 32 by 32
}";
    // 256 blocks, of 528; 272; 512 blocks, half of whose columns are there, and then three quarters
    assert_eq!(chosen(text, &[2048, 512], 0), Some(1));
    assert_eq!(chosen(text, &[2176, 512], 0), Some(0));
    assert_eq!(chosen(text, &[512, 32, 64], 0), Some(1));
    assert_eq!(chosen(text, &[512, 32, 96], 0), Some(0));
    assert_eq!(chosen(text, &[u64::MAX, u64::MAX], 0), Some(0));
    assert_eq!(chosen(text, &[0, 5], 0), Some(1));
    // rounds that are not full: 529 blocks take two
    let text = "gpu @s {
  version all threads 256 elements 1024 busy 51
  version any threads 256 elements 256
}";
    assert_eq!([528, 529, 540].map(|blocks| chosen(text, &[blocks * 1024], 0)), [Some(0), Some(1), Some(0)]);
}

/// A multiprocessor that has one block of segments is busy; of two, the next round is not to have few.
#[test]
fn warps_take_whole_segments_where_rounds_are_full() {
    let text = "gpu @s {
  version tiles threads 256 segments 8 busy 75
  version chunks threads 256 chunks 1 to 8
}";
    let of = |blocks: u64| chosen(text, &[blocks * 8], 1 << 15);
    assert_eq!([98, 99, 264].map(of), [Some(1), Some(0), Some(0)]);
    assert_eq!([265, 395, 396, 512].map(of), [Some(1), Some(1), Some(0), Some(0)]);
}

/// The kernel behind a launch of parts joins two levels of the tree, whatever a tuning file says.
#[test]
fn parts_of_more_than_two_levels_are_never_left() {
    let text = "gpu @m {
  version parts threads 256 parts 8 contiguous narrow longest 1024 multiple 4
  version join threads 256 joins 32
}";
    let kernel = &gpu::parse(text).unwrap()[0];
    let chosen = |rows: u64| {
        let space = Space { extents: &[rows], inner_length: 64 };
        kernel.choose(&space, 1, H100, |_| None, || false, &[0])
    };
    assert_eq!([1 << 22, (1 << 22) + 1].map(chosen), [Some(0), None]);
}

#[test]
fn a_split_product_is_two_kernel_launches() {
    let text = "gpu @m {
  version panels threads 64 panels 64 by 64 most 132 shortest 1024
  version sums threads 256 sums 64 by 64
  version whole threads 256 plane 64 by 64
}";
    let kernel = &gpu::parse(text).unwrap()[0];
    let decide = |extents: &[u64], segment| {
        let space = Space { extents, inner_length: segment };
        kernel.decide(kernel.choose(&space, 1, H100, |_| None, || false, &[]).unwrap(), &space, H100)
    };
    let launch = |variant, blocks, span| KernelLaunch { variant, blocks, span };
    let split = decide(&[128, 65], 1025);
    assert_eq!(split.kernels().collect::<Vec<_>>(), [launch(0, 12, Some(1)), launch(1, 64, Some(1))]);
    assert_eq!(split.scratch, Scratch { elements: 12 * 64 * 64, counters: 0 });
    let whole = decide(&[128, 65], 512);
    assert_eq!(whole.kernels().collect::<Vec<_>>(), [launch(2, 4, None)]);
    assert_eq!(whole.scratch, Scratch::default());
    assert_eq!(decide(&[0, 65], 1025).kernels().count(), 0);
}

#[test]
fn blocks_of_a_stream_fill_the_device() {
    let text = "gpu @s {
  version s threads 256 stream 32 by 128, 8 to 64 of 2
}";
    let kernel = &gpu::parse(text).unwrap()[0];
    let blocks = |extents: &[u64]| {
        let decision = kernel.decide(0, &Space { extents, inner_length: 0 }, H100);
        let launch = decision.kernels().next().unwrap();
        assert_eq!((launch.variant, launch.span), (0, None));
        launch.blocks
    };
    // 64 planes a block, two rounds; 16 planes, one round; as many blocks as there can be
    assert_eq!(blocks(&[512, 512, 512]), 4 * 16 * 8);
    assert_eq!(blocks(&[256, 256, 256]), 2 * 8 * 16);
    assert_eq!(blocks(&[64, 64, 128]), 2 * 8);
    assert_eq!(blocks(&[u64::MAX, u64::MAX, 128]), u64::MAX);
}

#[test]
fn scratch_arrays_follow_each_other() {
    let scratch = Scratch { elements: 65, counters: 1 };
    let types = [Ty::F32, Ty::F64, Ty::Bool];
    assert_eq!(scratch.offsets(&types).collect::<Vec<_>>(), [0, 512, 512 + 768]);
    assert_eq!(scratch.bytes(&types), 512 + 768 + 256);
    assert_eq!(scratch.bytes(&[]), 0);
    assert_eq!(Scratch { elements: u64::MAX, counters: 0 }.bytes(&types), u64::MAX);
}

#[test]
fn spans_fill_the_device_first() {
    let full = 132 * 8;
    assert_eq!(doubled(0, 1, 32, full), 1);
    assert_eq!(doubled(full, 1, 32, full), 1);
    assert_eq!(doubled(full + 1, 1, 32, full), 2);
    assert_eq!(doubled(1 << 15, 1, 32, full), 32);
    assert_eq!(doubled(1 << 40, 1, 32, full), 32);
    assert_eq!(doubled(1 << 40, 2, 2, full), 2);
    assert_eq!([1 << 15, 1 << 16].map(|tiles| of_team(tiles, 1, 32, full)), [32, 8]);
    assert_eq!([1 << 16, 1 << 40].map(|tiles| of_team(tiles, 16, 32, full)), [16, 16]);
}

#[test]
fn layouts() {
    let of = |extents, strides, address| Layout { extents, strides, size: 4, address };
    assert!(of(&[3, 8], &[8, 1], 0).is_flat() && of(&[3, 8], &[8, 1], 0).is_aligned(false));
    // the stride between rows does not matter if there is only one row
    assert!(of(&[1, 8], &[99, 1], 0).is_flat() && of(&[1, 8], &[99, 1], 32).is_aligned(false));
    assert!(!of(&[3, 8], &[9, 1], 0).is_flat() && !of(&[3, 8], &[9, 1], 0).is_aligned(false));
    assert!(!of(&[8], &[1], 4).is_aligned(true));
    assert!(of(&[0, 8], &[1, 7], 0).is_flat());
    assert!(of(&[2, 4], &[1 << 29, 1], 0).is_narrow() && !of(&[4, 4], &[1 << 29, 1], 0).is_narrow());
    assert!(!of(&[4, 4], &[i64::MIN, 1], 0).is_narrow());
}
