//! Plots as SVG, with units on both axes.

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use std::ops::Range;

/// One line of a plot, or a cloud of points.
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
    pub line: bool,
}

/// What the axes show.
pub struct Axes {
    pub x: &'static str,
    pub y: &'static str,
    /// Lengths are drawn as powers of two.
    pub x_is_log2: bool,
    pub x_is_log: bool,
    pub y_is_log: bool,
    /// A horizontal line, such as "as fast as the peer".
    pub mark: Option<f64>,
    /// The diagonal, where both axes have one unit.
    pub diagonal: bool,
}

impl Axes {
    pub fn new(x: &'static str, y: &'static str) -> Self {
        Self { x, y, x_is_log2: false, x_is_log: false, y_is_log: false, mark: None, diagonal: false }
    }
}

/// Black for ours, then colours that a colour-blind reader tells apart (Okabe and Ito, 2008).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 0, 0),
    RGBColor(230, 159, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(150, 150, 150),
];

const SIZE: (u32, u32) = (560, 340);

/// A plot.
///
/// # Errors
/// What the drawing library says.
pub fn svg(title: &str, axes: &Axes, series: &[Series]) -> Result<String, String> {
    let points = || series.iter().flat_map(|s| &s.points);
    let x = range(points().map(|p| p.0), axes.x_is_log, false);
    let y = range(points().map(|p| p.1).chain(axes.mark), axes.y_is_log, true);
    match (axes.x_is_log, axes.y_is_log) {
        (false, false) => draw(title, axes, series, x.clone(), y.clone(), x, y),
        (false, true) => draw(title, axes, series, x.clone(), y.clone().log_scale(), x, y),
        (true, false) => draw(title, axes, series, x.clone().log_scale(), y.clone(), x, y),
        (true, true) => draw(title, axes, series, x.clone().log_scale(), y.clone().log_scale(), x, y),
    }
}

/// All values, with some room; a linear axis of values begins at nothing.
fn range(values: impl Iterator<Item = f64>, is_log: bool, from_nothing: bool) -> Range<f64> {
    let (low, high) =
        values.filter(|v| v.is_finite()).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    match (low <= high, is_log, from_nothing) {
        (false, _, _) => 0.1..1.0,
        (_, true, _) => low / 1.2..high * 1.2,
        (_, false, true) => low.min(0.0)..high * 1.08,
        (_, false, false) => low..high.max(low + 1.0),
    }
}

fn draw<X, Y>(
    title: &str,
    axes: &Axes,
    series: &[Series],
    x: X,
    y: Y,
    xs: Range<f64>,
    ys: Range<f64>,
) -> Result<String, String>
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let mut out = String::new();
    {
        let said = |e: DrawingAreaErrorKind<_>| e.to_string();
        let area = SVGBackend::with_string(&mut out, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(said)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 15))
            .margin(8)
            .margin_right(16)
            .x_label_area_size(40)
            .y_label_area_size(58)
            .build_cartesian_2d(x, y)
            .map_err(said)?;
        let power = |x: &f64| if axes.x_is_log2 { format!("2^{x:.0}") } else { short(*x) };
        let value = |y: &f64| short(*y);
        chart
            .configure_mesh()
            .x_desc(axes.x)
            .y_desc(axes.y)
            .x_labels(9)
            .y_labels(7)
            .x_label_formatter(&power)
            .y_label_formatter(&value)
            .axis_desc_style(("sans-serif", 12))
            .label_style(("sans-serif", 11))
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(230, 230, 230))
            .draw()
            .map_err(said)?;
        let grey = RGBColor(130, 130, 130);
        if let Some(mark) = axes.mark {
            chart
                .draw_series(LineSeries::new([(xs.start, mark), (xs.end, mark)], grey.stroke_width(1)))
                .map_err(said)?;
        }
        if axes.diagonal {
            let (low, high) = (xs.start.max(ys.start), xs.end.min(ys.end));
            chart
                .draw_series(LineSeries::new([(low, low), (high, high)], grey.stroke_width(1)))
                .map_err(said)?;
        }
        for (s, colour) in series.iter().zip(COLOURS.into_iter().cycle()) {
            let drawn = if s.line {
                chart
                    .draw_series(
                        LineSeries::new(s.points.iter().copied(), colour.stroke_width(2)).point_size(2),
                    )
                    .map_err(said)?
            } else {
                chart
                    .draw_series(s.points.iter().map(|p| Circle::new(*p, 3, colour.filled())))
                    .map_err(said)?
            };
            if !s.name.is_empty() {
                drawn
                    .label(&s.name)
                    .legend(move |(x, y)| Rectangle::new([(x, y - 3), (x + 12, y + 3)], colour.filled()));
            }
        }
        if series.iter().any(|s| !s.name.is_empty()) {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::LowerRight)
                .label_font(("sans-serif", 11))
                .background_style(WHITE.mix(0.85))
                .border_style(RGBColor(220, 220, 220))
                .draw()
                .map_err(said)?;
        }
        area.present().map_err(said)?;
    }
    Ok(out)
}

/// Three digits, with the letter of a large unit.
fn short(v: f64) -> String {
    let (v, letter) = match v.abs() {
        a if a >= 1e9 => (v / 1e9, "G"),
        a if a >= 1e6 => (v / 1e6, "M"),
        a if a >= 1e4 => (v / 1e3, "k"),
        _ => (v, ""),
    };
    let digits = if v == 0.0 { 0 } else { (2 - v.abs().log10().floor() as i32).clamp(0, 4) as usize };
    let text = format!("{v:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{letter}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let texts = [0.0, 0.01, 0.125, 1.0, 12.3, 4000.0, 65536.0, 2e9].map(short);
        assert_eq!(texts, ["0", "0.01", "0.125", "1", "12.3", "4000", "65.5k", "2G"]);
    }

    #[test]
    fn a_plot_names_its_axes_and_lines() {
        let series =
            [Series { name: "ours".to_owned(), points: vec![(10.0, 1.0), (20.0, 4000.0)], line: true }];
        let axes = Axes { x_is_log2: true, ..Axes::new("elements", "GB/s") };
        let text = svg("saxpy", &axes, &series).unwrap();
        for word in ["saxpy", "elements", "GB/s", "ours", "2^10"] {
            assert!(text.contains(word), "{word} is missing");
        }
    }
}
