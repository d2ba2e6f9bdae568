//! Decisions, scratch, spans and layouts.

use super::{KernelLaunch, Layout, Scratch, Space, doubled};
use crate::plan::gpu;
use crate::scalar::Ty;

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
        kernel.decide(kernel.choose(&space, 1, |_| None, || false).unwrap(), &space, 132)
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
