//! Tuning files: what is read, what is refused, and what the launch policy makes of it.

use super::{Choice, Line, Runs, SizeClass, key, parse};
use crate::plan::gpu;
use crate::plan::policy::{Device, Layout, Space};

const FILE: &str = "\
arraygpu tuning 1
device NVIDIA H200
package stats 8f1c2d3e4a5b6978
rmse_0 over 2^26 runs rmse_0_any    # 101.2 us a call
sums_0 over 2^10 of 2^20 runs sums_0_clusters
chain_0 over any runs others
";

fn space(extents: &[u64], inner_length: u64) -> Space<'_> {
    Space { extents, inner_length }
}

#[test]
fn files_are_read_and_written() {
    let sections = parse(FILE).unwrap();
    assert_eq!(sections.iter().map(ToString::to_string).collect::<String>(), FILE);
    let [section] = &sections[..] else { panic!("one section") };
    assert_eq!((&*section.device, &*section.package), ("NVIDIA H200", "stats"));
    assert_eq!(section.lines[2].runs, Runs::Others);
    // files may be joined, with comments and empty lines between
    let joined = format!("{FILE}\n# and another device\n{}", FILE.replace("H200", "H#100"));
    let sections = parse(&joined).unwrap();
    assert_eq!((sections.len(), &*sections[1].device), (2, "NVIDIA H#100"));
    assert!(!sections[0].is_like(&sections[1]));
}

#[test]
fn damaged_files_name_the_line() {
    for (damaged, message) in [
        (String::new(), "no tuning file"),
        ("# nothing\n".into(), "no tuning file"),
        ("rmse_0 over any runs x".into(), "line 1: no tuning file; `arraygpu tuning 1` is its first line"),
        (FILE.replace("tuning 1", "tuning 2"), "line 1: another version of the format"),
        (FILE.replace("device NVIDIA H200\n", ""), "line 2: expected `device NAME`"),
        (FILE.replace("NVIDIA H200", ""), "line 2: expected `device NAME`"),
        (FILE.replace(" 8f1c2d3e4a5b6978", ""), "line 3: expected `package NAME KEY`"),
        (FILE.replace("over 2^26 runs", "runs"), "line 4: expected `KERNEL over SIZES runs VARIANT`"),
        (FILE.replace("rmse_0_any ", ""), "line 4: expected `KERNEL over SIZES runs VARIANT`"),
        (FILE.replace("2^26", "3^26"), "line 4: `3^26`: a power of two such as 2^20 is expected"),
        (FILE.replace("2^26", "2^65"), "line 4: `2^65`: a power of two"),
        (FILE.replace("2^26", &["2^1"; 17].join("x")), "line 4: 17 extents"),
        (FILE.replace("of 2^20", "by 2^20"), "line 5: expected sizes"),
        (
            FILE.replace("package", "arraygpu tuning 1\npackage"),
            "line 3: the section before has no device or no package",
        ),
        ("arraygpu tuning 1\ndevice A\n".into(), "the file ends before the device or the package"),
    ] {
        let error = parse(&damaged).unwrap_err().to_string();
        assert!(error.contains(message), "`{message}` is not in `{error}`");
    }
}

#[test]
fn the_nearest_power_of_two_is_the_class() {
    let class = |extents: &[u64], inner| SizeClass::of(&space(extents, inner)).to_string();
    assert_eq!(class(&[1 << 26], 0), "2^26");
    assert_eq!(class(&[1000, 1_000_000], 3), "2^10x2^20 of 2^2");
    assert_eq!([class(&[0, 1], 0), class(&[], 0), class(&[], 5)], ["0x2^0", "1", "1 of 2^2"]);
    // 2^(1/2) is 1.414: 1448 / 1024 lies below it, 1449 / 1024 above
    assert_eq!([1448, 1449].map(|n| class(&[n], 0)), ["2^10", "2^11"]);
    assert_eq!(class(&[u64::MAX], 1 << 63), "2^64 of 2^63");
    for text in ["2^10x2^20 of 2^2", "0x2^0", "2^64", "1", "1 of 2^2"] {
        assert_eq!(SizeClass::parse(text).unwrap().to_string(), text);
    }
    let class = SizeClass::parse("2^10 of 2^20").unwrap();
    assert!(class.has(&space(&[1024], 1_000_000)));
    assert!(!class.has(&space(&[1024], 0)) && !class.has(&space(&[1024, 1], 1 << 20)));
}

#[test]
fn lines_replace_those_of_the_same_sizes() {
    let mut section = parse(FILE).unwrap().remove(0);
    let line = |kernel: &str, sizes: &str, entry: &str| Line {
        kernel: kernel.into(),
        sizes: Some(SizeClass::parse(sizes).unwrap()),
        runs: Runs::Variant(entry.into()),
        note: String::new(),
    };
    section.replace(vec![line("rmse_0", "2^26", "b"), line("rmse_0", "2^9", "a")]);
    let lines: Vec<String> = section.lines.iter().map(ToString::to_string).collect();
    let expected = [
        "chain_0 over any runs others",
        "rmse_0 over 2^9 runs a",
        "rmse_0 over 2^26 runs b",
        "sums_0 over 2^10 of 2^20 runs sums_0_clusters",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn keys_tell_packages_apart() {
    let keys = [key("a", "b"), key("ab", ""), key("", "ab"), key("a", "c")];
    assert!(keys.iter().all(|k| k.len() == 16));
    assert!((1..4).all(|i| !keys[..i].contains(&keys[i])), "{keys:?}");
}

/// The policy takes a measured variant before its own, where its guards hold and its scratch is bearable.
#[test]
fn measured_variants_come_first_where_their_guards_hold() {
    let text = "gpu @m {
  version panels threads 64 panels 64 by 64 most 132 shortest 1024
  version sums threads 256 sums 64 by 64
  version even threads 256 plane 64 by 64 neighbours 2
  version whole threads 256 plane 64 by 64 contiguous
  version any threads 256 plane 32 by 32
}";
    let kernel = &gpu::parse(text).unwrap()[0];
    let file = "arraygpu tuning 1\ndevice D\npackage p k
m over 2^7x2^6 of 2^9 runs even
m over 2^12x2^12 of 2^12 runs panels
m over any runs any\n";
    let section = parse(file).unwrap().remove(0);
    let entries: Vec<&str> = kernel.variants.iter().map(|v| v.entry.as_str()).collect();
    let kernels = [("other", vec![]), ("m", entries)];
    let choices = &section.choices(kernels.iter().cloned()).unwrap()[1];
    let device = Device { multiprocessors: 132, capability: 90 };
    let rows = Layout { extents: &[8, 8], strides: &[16, 2], size: 4, address: 0 };
    let chosen = |extents: &[u64], inner, array: Option<Layout<'static>>| {
        let space = space(extents, inner);
        let preferred = choices.of(&space).map_or(&[][..], Choice::variants);
        let array = |i| array.filter(|_| i == 0);
        kernel.choose(&space, 1, device, array, || false, preferred).map(|at| &*kernel.variants[at].entry)
    };
    assert_eq!(chosen(&[128, 64], 512, None), Some("even"));
    // 65 columns are of this class, but no multiple of 2, so the policy decides
    assert_eq!(chosen(&[128, 65], 512, None), Some("whole"));
    assert_eq!(chosen(&[128, 65], 512, Some(rows)), Some("any"));
    // all panels of such a product would take too much scratch
    assert_eq!(chosen(&[4096, 4096], 4096, None), Some("even"));
    // a choice for all sizes
    assert_eq!(chosen(&[64, 64], 8, None), Some("any"));
    let of = |line: &str| {
        let section = parse(&format!("arraygpu tuning 1\ndevice D\npackage p k\n{line}")).unwrap().remove(0);
        section.choices(kernels.iter().cloned()).unwrap_err().to_string()
    };
    assert!(of("x over any runs any").contains("there is no kernel x"));
    assert!(of("m over any runs even_2").contains("m has no variant even_2"));
}
