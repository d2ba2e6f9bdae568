//! Launches of variants as text, and the blocks of their grids.

#[test]
fn reads_back() {
    let text = "gpu @f_0 {
  version f_0 threads 256 elements 2048 contiguous narrow separate flat 1 aligned 0, 2
  version f_0_steps threads 256 plane 56 by 120 contiguous steps 4 extent 2 aligned 0
  version f_0_any threads 128 tiles 1 to 2
  version f_0_large threads 256 plane 128 by 128 blocks 128 narrow
}
gpu @g_0 {
  version g_0 threads 32 one
}
gpu @p_0 {
  version p_0 threads 256 plane 32 by 128 tall 5 wide 17 contiguous aligned 0
  version p_0_rows threads 128 segments 4 contiguous narrow longest 1024 multiple 4 neighbours 2 aligned 0
}
gpu @m_0 {
  version m_0_panels threads 64 panels 64 by 64 most 132 shortest 1024 contiguous narrow aligned 1, 2
  version m_0_sums threads 256 sums 64 by 64
  version m_0_packs threads 256 packs 8
  version m_0_packed threads 128 packed 128 by 128
  version m_0_row threads 64 panels 4 by 256 rows 4
  version m_0_row_sums threads 256 sums 4 by 256
}
gpu @h_0 {
  absent \"why\"
}
";
    let kernels = super::parse(text).unwrap();
    assert_eq!(kernels.iter().map(|k| k.to_string()).collect::<String>(), text);
    assert!(super::parse("gpu @f { version f threads 33 one }").is_err());
    assert!(super::parse("gpu @f { version f threads 32 plane 0 by 1 }").is_err());
    assert!(super::parse("gpu @f { version f threads 32 tiles 2 to 1 }").is_err());
    assert!(super::parse("gpu @f { version f threads 64 tiles 1 to 2 }").is_err());
    assert!(super::parse("gpu @f { version f threads 32 sums 4 by 4 }").is_err());
    assert!(super::parse("gpu @f { version f threads 32 panels 4 by 4 }").is_err());
    assert!(super::parse("gpu @f { version f threads 32 packed 4 by 4 }").is_err());
    assert!(super::parse("gpu @f { version f threads 32 packs 8 }").is_err());
}

#[test]
fn blocks_of_a_plane() {
    let plane = super::Grid::Plane { rows: 32, columns: 128 };
    assert_eq!(plane.blocks(&[33, 129], 0, 256, 1), 4);
    assert_eq!(plane.blocks(&[5, 32, 128], 0, 256, 1), 5);
    assert_eq!(plane.blocks(&[0, 128], 0, 256, 1), 0);
    assert_eq!(plane.blocks(&[7, 0], 0, 256, 1), 0);
}

#[test]
fn blocks_of_a_volume() {
    let volume = super::Grid::Volume { planes: 16, rows: 32, columns: 128 };
    assert_eq!(volume.blocks(&[17, 33, 129], 0, 256, 1), 8);
    assert_eq!(volume.blocks(&[3, 16, 32, 128], 0, 256, 1), 3);
    assert_eq!(volume.blocks(&[0, 32, 128], 0, 256, 1), 0);
    assert_eq!(volume.blocks(&[5, 0, 128], 0, 256, 1), 0);
    let text = "gpu @m {\n  version m threads 256 volume 16 by 32 by 128\n}\n";
    assert_eq!(super::parse(text).unwrap()[0].to_string(), text);
    assert!(super::parse("gpu @f { version f threads 32 volume 0 by 1 by 1 }").is_err());
}

#[test]
fn blocks_of_a_stream() {
    let stream = super::Grid::Stream { rows: 8, columns: 128, min_planes: 8, max_planes: 64, resident: 6 };
    assert_eq!(stream.blocks(&[17, 9, 129], 0, 256, 1), 3 * 2 * 2);
    assert_eq!(stream.blocks(&[17, 9, 129], 0, 256, 16), 2 * 2 * 2);
    assert_eq!(stream.blocks(&[2, 64, 8, 128], 0, 256, 64), 2);
    assert_eq!(stream.blocks(&[0, 8, 128], 0, 256, 8), 0);
    let text = "gpu @m {\n  version m threads 256 stream 8 by 128, 8 to 64 of 6\n}\n";
    assert_eq!(super::parse(text).unwrap()[0].to_string(), text);
    assert!(super::parse("gpu @f { version f threads 32 stream 1 by 1, 2 to 1 of 1 }").is_err());
    assert!(super::parse("gpu @f { version f threads 32 stream 1 by 1, 1 to 1 of 0 }").is_err());
}

#[test]
fn blocks_of_panels() {
    let (panels, sums) =
        (super::Grid::Panels { rows: 64, columns: 64 }, super::Grid::Sums { rows: 64, columns: 64 });
    assert_eq!(panels.blocks(&[64, 65], 1 << 20, 64, 1), 2 * 2048);
    assert_eq!(panels.blocks(&[65], 513, 64, 1), 2 * 2);
    assert_eq!(panels.blocks(&[5, 5], 0, 64, 1), 0);
    assert_eq!(sums.blocks(&[64, 65], 1 << 20, 256, 16), 2 * 256);
    assert_eq!(sums.blocks(&[5, 5], 0, 256, 1), 16);
    assert_eq!(sums.blocks(&[0, 5], 0, 256, 1), 0);
}

#[test]
fn blocks_of_parts() {
    let text = "gpu @m {
  version parts threads 256 parts 8 contiguous narrow longest 1024 multiple 4
  version join threads 256 joins 32
}
";
    let kernel = &super::parse(text).unwrap()[0];
    assert_eq!(kernel.to_string(), text);
    let [parts, joins] = [0, 1].map(|i| kernel.variants[i].grid);
    // 16 parts of each tile of 2048 rows; the columns in strips of 32
    assert_eq!((parts.blocks(&[2049], 1000, 256, 1), joins.blocks(&[2049], 1000, 256, 1)), (32, 32));
    assert_eq!((parts.blocks(&[0], 1000, 256, 1), joins.blocks(&[0], 1000, 256, 1)), (0, 32));
    assert!(super::parse("gpu @f { version f threads 32 joins 32 }").is_err());
    assert!(super::parse("gpu @f { version f threads 32 parts 8 }").is_err());
}
