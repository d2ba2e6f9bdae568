//! Pictures: PNG by its crate, and the formats of Netpbm (`.pgm`, `.ppm`), which are a few numbers
//! before the samples. Grey pictures are matrices, others arrays [height, width, channels].

use crate::array::{Array, show};
use crate::kind::{Kind, Number};
use crate::problem::{Problem, Result, failure};

/// A picture's samples, of `u8` or `u16`, and the sample of full light.
pub struct Picture {
    /// [height, width, channels]
    pub samples: Array,
    /// The number by which `scale` divides.
    pub full: f64,
}

/// Reads a PNG file's bytes.
pub fn read_png(bytes: &[u8], file: &str) -> Result<Picture> {
    let bad = |e: png::DecodingError| failure(format!("{file}: {e}"));
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    // palettes become colours, and samples of fewer bits bytes
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(bad)?;
    let (width, height) = reader.info().size();
    let (colour, depth) = reader.output_color_type();
    let kind = if depth == png::BitDepth::Sixteen { Kind::U16 } else { Kind::U8 };
    let mut samples = Array::zeros(kind, &[height.into(), width.into(), colour.samples() as i64])?;
    reader.next_frame(&mut samples.bytes).map_err(bad)?;
    Ok(of_big_endian(samples, if kind == Kind::U16 { 65535.0 } else { 255.0 }))
}

/// Puts the bytes of samples, which both formats have in big-endian order, into ours.
fn of_big_endian(mut samples: Array, full: f64) -> Picture {
    samples.bytes.chunks_exact_mut(samples.kind.size()).for_each(<[u8]>::reverse);
    Picture { samples, full }
}

/// Reads a Netpbm file's bytes: P2 and P3 (text), P5 and P6 (bytes).
pub fn read_pnm(bytes: &[u8], file: &str) -> Result<Picture> {
    let bad = |why: &str| failure(format!("{file}: {why}"));
    let (binary, channels) = match bytes.get(..2) {
        Some(b"P2") => (false, 1),
        Some(b"P3") => (false, 3),
        Some(b"P5") => (true, 1),
        Some(b"P6") => (true, 3),
        _ => return Err(bad("no .pgm or .ppm file: it begins with none of P2, P3, P5, P6")),
    };
    let mut at = 2;
    let mut next = |most: i64| number(bytes, &mut at).filter(|n| *n <= most);
    let header = [next(i64::MAX), next(i64::MAX), next(65535).filter(|n| *n > 0)];
    let [Some(width), Some(height), Some(full)] = header else {
        return Err(bad("width, height and greatest sample (at most 65535) are expected in the header"));
    };
    let kind = if full < 256 { Kind::U8 } else { Kind::U16 };
    if !binary {
        let mut element = |_| {
            let sample =
                next(full).ok_or_else(|| bad("cut off, or a sample is no number up to the greatest"))?;
            Ok((sample as u64).to_le_bytes())
        };
        let samples = Array::generate(kind, &[height, width, channels], &mut element)?;
        return Ok(Picture { samples, full: full as f64 });
    }
    let mut samples = Array::zeros(kind, &[height, width, channels])?;
    // one white space follows the header
    let data =
        bytes.get(at + 1..).and_then(|d| d.get(..samples.bytes.len())).ok_or_else(|| bad("cut off"))?;
    samples.bytes.copy_from_slice(data);
    Ok(of_big_endian(samples, full as f64))
}

/// Reads the next number, behind white space and comments.
fn number(bytes: &[u8], at: &mut usize) -> Option<i64> {
    loop {
        match bytes.get(*at)? {
            b'#' => *at += bytes[*at..].iter().position(|b| *b == b'\n')?,
            b if b.is_ascii_whitespace() => *at += 1,
            _ => break,
        }
    }
    let digits = bytes[*at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let text = std::str::from_utf8(&bytes[*at..*at + digits]).ok()?;
    *at += digits;
    text.parse().ok()
}

impl Picture {
    /// Returns the samples as an array of a rank: a matrix if there is one channel.
    pub fn of_rank(self, file: &str, rank: usize) -> Result<Array> {
        let mut samples = self.samples;
        match (rank, samples.extents.last()) {
            (3, _) => Ok(samples),
            (2, Some(1)) => {
                samples.extents.pop();
                Ok(samples)
            }
            (2, channels) => {
                let n = channels.copied().unwrap_or_default();
                let shape = show(&samples.extents);
                Err(failure(format!("{file}: {n} channels ({shape}); a matrix is a grey picture")))
            }
            _ => Err(failure(format!("{file}: a picture is a matrix or an array of rank 3"))),
        }
    }
}

/// Returns an array of floats from 0 to 1 as bytes from 0 to 255, rounded; what is beyond is cut off.
pub fn to_bytes(array: &Array, file: &str) -> Result<Array> {
    let byte = |n: Number| Number::Float((n.to_f64().clamp(0.0, 1.0) * 255.0).round());
    array.convert(Kind::U8, file, byte)
}

/// Returns height, width and channels of an array that can be a picture.
fn shape(array: &Array, file: &str) -> Result<[u32; 3]> {
    let wrong = |what: &str| -> Problem { failure(format!("{file}: {what}")) };
    if !matches!(array.kind, Kind::U8 | Kind::U16) {
        let kind = array.kind;
        return Err(wrong(&format!(
            "pictures have u8 or u16, the result has {kind}; `{file}:scale` takes 0 to 1 as black to white"
        )));
    }
    let extents = match array.extents[..] {
        [height, width] => [height, width, 1],
        [height, width, channels @ 1..=4] => [height, width, channels],
        _ => {
            let shape = show(&array.extents);
            return Err(wrong(&format!(
                "a picture is a matrix or height x width x 1 to 4 channels, the result is {shape}"
            )));
        }
    };
    let fits = extents.iter().all(|e| u32::try_from(*e).is_ok_and(|e| e > 0));
    if fits { Ok(extents.map(|e| e as u32)) } else { Err(wrong("a picture has at least one pixel")) }
}

/// Returns the bytes of a PNG file.
pub fn write_png(array: &Array, file: &str) -> Result<Vec<u8>> {
    let [height, width, channels] = shape(array, file)?;
    let bad = |e: png::EncodingError| failure(format!("{file}: {e}"));
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(match channels {
        1 => png::ColorType::Grayscale,
        2 => png::ColorType::GrayscaleAlpha,
        3 => png::ColorType::Rgb,
        _ => png::ColorType::Rgba,
    });
    encoder.set_depth(if array.kind == Kind::U16 { png::BitDepth::Sixteen } else { png::BitDepth::Eight });
    let mut writer = encoder.write_header().map_err(bad)?;
    writer.write_image_data(&big_endian(array)).map_err(bad)?;
    writer.finish().map_err(bad)?;
    Ok(out)
}

/// Returns the bytes of a Netpbm file: P5 of a grey picture, P6 of one with three channels.
pub fn write_pnm(array: &Array, file: &str) -> Result<Vec<u8>> {
    let [height, width, channels] = shape(array, file)?;
    let magic = match channels {
        1 => "P5",
        3 => "P6",
        _ => return Err(failure(format!("{file}: {channels} channels; only .png has as many"))),
    };
    let full = if array.kind == Kind::U16 { 65535 } else { 255 };
    Ok([format!("{magic}\n{width} {height}\n{full}\n").as_bytes(), &big_endian(array)].concat())
}

fn big_endian(array: &Array) -> Vec<u8> {
    let mut bytes = array.bytes.clone();
    bytes.chunks_exact_mut(array.kind.size()).for_each(<[u8]>::reverse);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(kind: Kind, extents: &[i64]) -> Array {
        Array::generate(kind, extents, |i| Ok(kind.bits(Number::Int(i128::from(i) % 251)).unwrap())).unwrap()
    }

    #[test]
    fn pictures_come_back() {
        for kind in [Kind::U8, Kind::U16] {
            for extents in [&[2, 3][..], &[2, 3, 1], &[4, 2, 3], &[1, 1, 4]] {
                let picture = array(kind, extents);
                let rank = extents.len();
                let png = read_png(&write_png(&picture, "a.png").unwrap(), "a.png").unwrap();
                assert_eq!(png.of_rank("a.png", rank).unwrap(), picture, "{kind}, {extents:?}");
                let Ok(pnm) = write_pnm(&picture, "a.pgm") else { continue };
                let pnm = read_pnm(&pnm, "a.pgm").unwrap();
                assert_eq!(pnm.of_rank("a.pgm", rank).unwrap(), picture, "{kind}, {extents:?}");
            }
        }
    }

    #[test]
    fn netpbm_as_text_with_comments() {
        let picture = read_pnm(b"P2 # grey\n3 1\n# most\n15\n0 7 15\n", "a.pgm").unwrap();
        assert_eq!((picture.full, &picture.samples.bytes[..]), (15.0, &[0, 7, 15][..]));
    }

    #[test]
    fn floats_become_bytes() {
        let floats = [-1.0f32, 0.0, 0.5, 1.0, 7.0, f32::NAN];
        let bytes = floats[..5].iter().flat_map(|x| x.to_le_bytes()).collect();
        let grey = Array { kind: Kind::F32, extents: vec![1, 5], bytes };
        assert_eq!(to_bytes(&grey, "a.png").unwrap().bytes, [0, 0, 128, 255, 255]);
        let nan = Array { kind: Kind::F32, extents: vec![1, 1], bytes: floats[5].to_le_bytes().into() };
        assert_eq!(to_bytes(&nan, "a.png").unwrap_err().text, "a.png: the element NaN is no u8");
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        let error = |a: Array| write_png(&a, "a.png").unwrap_err().text;
        assert!(error(array(Kind::F32, &[2, 2])).contains("the result has f32; `a.png:scale` takes"));
        assert!(error(array(Kind::U8, &[4])).ends_with("the result is 4"));
        assert!(error(array(Kind::U8, &[0, 4])).ends_with("at least one pixel"));
        let read = |bytes: &[u8]| read_pnm(bytes, "a.pgm").err().unwrap().text;
        assert_eq!(read(b"P5 2 2 255\n123"), "a.pgm: cut off");
        assert!(read(b"P2 1 1 9\n10").starts_with("a.pgm: cut off, or a sample"));
        assert!(read(b"GIF").starts_with("a.pgm: no .pgm"));
        assert!(read_png(b"P5", "a.png").is_err());
        let colours = Picture { samples: array(Kind::U8, &[2, 2, 3]), full: 255.0 };
        let text = colours.of_rank("a.png", 2).unwrap_err().text;
        assert_eq!(text, "a.png: 3 channels (2x2x3); a matrix is a grey picture");
    }
}
