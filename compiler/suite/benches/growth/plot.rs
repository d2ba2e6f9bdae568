//! A plot with logarithmic axes, as SVG.

use std::fmt::Write;

/// The points of one kind of program.
pub struct Line {
    /// The name beside its last point.
    pub name: &'static str,
    /// The size and the value.
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 480.0;
const MARGIN: f64 = 50.0;
/// The place for the names of the lines.
const NAMES: f64 = 130.0;

/// Returns the plot of the lines over the number of repetitions.
pub fn svg(what: &str, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let decades = |value: &dyn Fn(&(f64, f64)) -> f64| {
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        for point in points() {
            let exponent = value(point).max(1e-6).log10();
            (low, high) = (low.min(exponent.floor()), high.max(exponent.ceil()));
        }
        if low < high { (low, high) } else { (0.0, 1.0) }
    };
    let (from, to) = decades(&|p| p.0);
    let (low, high) = decades(&|p| p.1);
    let x = |n: f64| MARGIN + (n.log10() - from) / (to - from) * (WIDTH - MARGIN - NAMES);
    let y = |v: f64| HEIGHT - MARGIN - (v.max(1e-6).log10() - low) / (high - low) * (HEIGHT - 2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{MARGIN}\" y=\"20\">{what}, by the number of repetitions</text>\n"
    );
    for e in from as i32..=to as i32 {
        let at = x(10f64.powi(e));
        let (top, end) = (MARGIN, HEIGHT - MARGIN);
        let _ = writeln!(
            out,
            "<path d=\"M{at:.0} {top}V{end}\" stroke=\"#ddd\"/><text x=\"{at:.0}\" y=\"{}\" text-anchor=\"middle\">10^{e}</text>",
            end + 16.0
        );
    }
    for e in low as i32..=high as i32 {
        let at = y(10f64.powi(e));
        let end = WIDTH - NAMES;
        let _ = writeln!(
            out,
            "<path d=\"M{MARGIN} {at:.0}H{end}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.0}\" text-anchor=\"end\">10^{e}</text>",
            MARGIN - 6.0,
            at + 4.0
        );
    }
    for (i, line) in lines.iter().enumerate() {
        let colour = format!("hsl({},70%,40%)", i * 360 / lines.len().max(1));
        let path: Vec<String> =
            line.points.iter().map(|(n, v)| format!("{:.1},{:.1}", x(*n), y(*v))).collect();
        let _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
            path.join(" ")
        );
        // the names stand below one another, because lines end close together
        let at = MARGIN + i as f64 * (HEIGHT - 2.0 * MARGIN) / lines.len().max(1) as f64;
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{at:.0}\" fill=\"{colour}\">{}</text>",
            WIDTH - NAMES + 8.0,
            line.name
        );
    }
    out + "</svg>\n"
}
