//! Upright columns: counts over time, or a histogram. The scale stands in a drawing of its own beside the columns, so
//! that it keeps its width on every screen.

use super::{Fill, area, begun, escaped, line, short};
use crate::pipeline::wording::grouped;

/// The height of the columns, of the text above them and of the labels below, in pixels.
const PLOT: f64 = 170.0;
const ABOVE: f64 = 22.0;
const BELOW: f64 = 26.0;
/// The width of a digit of the scale, and the gap between the scale and the columns, in pixels.
const DIGIT: f64 = 8.5;
const GAP: f64 = 7.0;
/// The share of a column's place that it fills.
const FILLED: f64 = 0.82;
/// The least height of a column that is not zero, in pixels.
const LOWEST: f64 = 2.0;

/// A chart of columns.
pub struct Columns<'a> {
    /// Begins the ids of the chart. It is unique on the page.
    pub id: &'a str,
    pub title: &'a str,
    pub description: &'a str,
    pub columns: &'a [Column],
    /// A level to compare the columns with.
    pub line: Option<Line>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Stands below it. Only the first, the middle and the last column show theirs.
    pub label: String,
    /// What it shows, in words.
    pub title: String,
    pub value: u64,
}

/// A level across the chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub level: u64,
    pub label: String,
}

impl Columns<'_> {
    /// The drawing of the scale and that of the columns.
    pub fn svg(&self) -> String {
        let highest = self.columns.iter().map(|column| column.value).chain(self.line.as_ref().map(|line| line.level));
        let top = scale_top(highest.max().unwrap_or(0));
        let height = ABOVE + PLOT + BELOW;
        let y = |value: u64| ABOVE + PLOT - PLOT * value as f64 / top as f64;
        let marks = [0, top / 2, top];
        let wide = grouped(top).len() as f64 * DIGIT + GAP;
        let (width, down) = (short(wide), short(height));
        let mut svg = format!("<svg class=\"scale\" width=\"{width}\" height=\"{down}\" aria-hidden=\"true\">\n");
        for mark in marks {
            let (x, y) = (short(wide - GAP), short(y(mark) + 4.0));
            line(&mut svg, &format!("<text x=\"{x}\" y=\"{y}\">{}</text>", grouped(mark)));
        }
        svg.push_str("</svg>");
        svg.push_str(&begun(self.id, self.title, self.description, height));
        for mark in marks {
            let y = short(y(mark));
            line(&mut svg, &format!("<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/>"));
        }
        let place = 100.0 / self.columns.len().max(1) as f64;
        for (at, column) in self.columns.iter().enumerate().filter(|(_, column)| column.value > 0) {
            let from = place * (at as f64 + (1.0 - FILLED) / 2.0);
            let high = (ABOVE + PLOT - y(column.value)).max(LOWEST);
            let down = (ABOVE + PLOT - high, high);
            area(&mut svg, Fill::Plain, (from, place * FILLED), down, &column.title);
        }
        if let Some(level) = &self.line {
            let at = y(level.level);
            let (y, text, label) = (short(at), short(at - 6.0), escaped(&level.label));
            line(&mut svg, &format!("<line class=\"level\" x1=\"0\" x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/>"));
            line(&mut svg, &format!("<text class=\"value halo\" x=\"100%\" y=\"{text}\">{label}</text>"));
        }
        self.labels(&mut svg, place, ABOVE + PLOT + 18.0);
        svg.push_str("</svg>");
        svg
    }

    fn labels(&self, svg: &mut String, place: f64, y: f64) {
        let y = short(y);
        let Some(last) = self.columns.len().checked_sub(1) else { return };
        let middle = (last >= 4).then_some((last / 2, "centred"));
        let end = (last > 0).then_some((last, "value"));
        for (at, class) in [Some((0, "begin")), middle, end].into_iter().flatten() {
            let x = match class {
                "begin" => 0.0,
                "value" => 100.0,
                _ => place * (at as f64 + 0.5),
            };
            let label = escaped(&self.columns[at].label);
            line(svg, &format!("<text class=\"{class}\" x=\"{}%\" y=\"{y}\">{label}</text>", short(x)));
        }
    }
}

/// The top of the scale: a round number whose half is a whole number.
fn scale_top(highest: u64) -> u64 {
    if let Some(top) = [2, 4, 6, 8, 10].into_iter().find(|top| *top >= highest) {
        return top;
    }
    let mut power = 10_u64;
    loop {
        let tops = [2, 3, 4, 5, 6, 8, 10].into_iter().map(|n| power.saturating_mul(n));
        if let Some(top) = tops.into_iter().find(|top| *top >= highest) {
            return top;
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64], line: Option<Line>) -> String {
        let column =
            |value: &u64| Column { label: format!("<{value}>"), title: format!("value {value}"), value: *value };
        let columns: Vec<Column> = values.iter().map(column).collect();
        Columns { id: "c", title: "t", description: "d", columns: &columns, line }.svg()
    }

    #[test]
    fn the_scale_ends_at_a_round_number_above_every_value() {
        let tops = [0, 1, 2, 3, 9, 10, 11, 61, 2_400, u64::MAX].map(scale_top);
        assert_eq!(tops, [2, 2, 2, 4, 10, 10, 20, 80, 3_000, u64::MAX]);
    }

    #[test]
    fn a_column_for_each_value_above_zero_and_none_for_zero() {
        let svg = of(&[5, 0, 10], None);
        assert_eq!(svg.matches("<rect ").count(), 2, "{svg}");
        assert!(svg.contains("height=\"170\"") && svg.contains("height=\"85\""), "{svg}");
        assert!(svg.contains("value 10</title>") && !svg.contains("value 0<"), "{svg}");
        assert!(of(&[], None).ends_with("</svg>"), "an empty chart is whole");
    }

    #[test]
    fn the_scale_is_as_wide_as_its_longest_number() {
        let width = |highest: u64| {
            let svg = of(&[highest], None);
            let width = svg.split("class=\"scale\" width=\"").nth(1).unwrap().split('"').next().unwrap();
            width.parse::<f64>().unwrap()
        };
        assert!(width(2_000_000) >= 9.0 * DIGIT && width(9) < 40.0, "{} {}", width(2_000_000), width(9));
    }

    #[test]
    fn a_level_above_all_columns_is_inside_the_chart_and_labels_are_escaped() {
        let svg = of(&[5], Some(Line { level: 60, label: "limit <60>".to_owned() }));
        assert!(svg.contains("limit &lt;60&gt;") && svg.contains("&lt;5&gt;") && !svg.contains("<60>"), "{svg}");
        let level = svg.split("class=\"level\"").nth(1).unwrap().split("y1=\"").nth(1).unwrap();
        assert!(level.split('"').next().unwrap().parse::<f64>().unwrap() >= 0.0);
    }
}
