//! Charts as inline SVG, from data alone. A chart is as wide as the page: positions across are percentages and heights
//! are pixels, so that text keeps its size on a phone. Each chart has a title and a description for screen readers, and
//! the page shows the same figures in a table. No chart depends on colour: see `pattern` in `page.html`.

mod columns;
mod stacks;

pub use columns::{Column, Columns, Line};
pub use stacks::{Segment, Stack, Stacks};

use std::fmt::Write;

/// What a filled area stands for. It decides colour and pattern, both of which the style of the page defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    Plain,
    Result,
    Failure,
    Pending,
    Skipped,
    Clear,
    Adverse,
    Review,
    NotFound,
    Data,
    Unrecognised,
}

impl Fill {
    #[cfg(test)]
    pub const ALL: [Fill; 11] = [
        Fill::Plain,
        Fill::Result,
        Fill::Failure,
        Fill::Pending,
        Fill::Skipped,
        Fill::Clear,
        Fill::Adverse,
        Fill::Review,
        Fill::NotFound,
        Fill::Data,
        Fill::Unrecognised,
    ];

    /// The name of its colour, which the style defines.
    pub fn colour(self) -> &'static str {
        match self {
            Fill::Plain => "plain",
            Fill::Result | Fill::Clear => "good",
            Fill::Failure | Fill::Adverse => "bad",
            Fill::Pending | Fill::Review => "open",
            Fill::Skipped | Fill::NotFound => "none",
            Fill::Data => "plain",
            Fill::Unrecognised => "odd",
        }
    }

    /// The name of its pattern, if it has one. Areas of one chart differ by pattern as well as by colour.
    pub fn pattern(self) -> Option<&'static str> {
        match self {
            Fill::Plain | Fill::Result | Fill::Clear => None,
            Fill::Failure | Fill::Adverse => Some("rising"),
            Fill::Pending | Fill::Review => Some("dots"),
            Fill::Skipped | Fill::NotFound => Some("across"),
            Fill::Data => Some("upright"),
            Fill::Unrecognised => Some("falling"),
        }
    }
}

/// Text for HTML and SVG.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// A filled rectangle with what it shows as its title. `across` and `down` are begin and size.
fn area(svg: &mut String, fill: Fill, across: (f64, f64), down: (f64, f64), title: &str) {
    let place = format!(
        "x=\"{}%\" y=\"{}\" width=\"{}%\" height=\"{}\"",
        short(across.0),
        short(down.0),
        short(across.1),
        short(down.1)
    );
    let (colour, title) = (fill.colour(), escaped(title));
    line(svg, &format!("<rect class=\"fill {colour}\" {place}><title>{title}</title></rect>"));
    if let Some(pattern) = fill.pattern() {
        line(svg, &format!("<rect class=\"over\" fill=\"url(#{pattern})\" {place}/>"));
    }
}

/// A sample of a fill, for a legend.
pub fn swatch(fill: Fill) -> String {
    let mut svg = "<svg class=\"swatch\" width=\"16\" height=\"16\" aria-hidden=\"true\">".to_owned();
    area(&mut svg, fill, (0.0, 100.0), (0.0, 16.0), "");
    svg.push_str("</svg>");
    svg.replace("<title></title>", "")
}

/// Begins a chart of this height, in pixels.
fn begun(id: &str, title: &str, description: &str, height: f64) -> String {
    format!(
        "<svg class=\"chart\" role=\"img\" aria-labelledby=\"{id}-title {id}-text\" width=\"100%\" height=\"{}\">\n\
         <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-text\">{}</desc>\n",
        short(height),
        escaped(title),
        escaped(description)
    )
}

fn line(svg: &mut String, text: &str) {
    writeln!(svg, "{text}").expect("writing to a string cannot fail");
}

/// A number with at most two decimals.
fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_text_is_escaped() {
        assert_eq!([1.0, 0.5, 33.333, 0.001, 100.0].map(short), ["1", "0.5", "33.33", "0", "100"]);
        assert_eq!(escaped("<b a='1' c=\"2\">&"), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;");
    }

    #[test]
    fn areas_that_appear_in_one_chart_differ_without_their_colour() {
        let verdicts = [Fill::Clear, Fill::Adverse, Fill::Review, Fill::NotFound, Fill::Data, Fill::Unrecognised];
        let ends = [Fill::Result, Fill::Failure, Fill::Pending, Fill::Skipped];
        for chart in [&verdicts[..], &ends[..]] {
            for (at, fill) in chart.iter().enumerate() {
                assert!(chart[..at].iter().all(|other| other.pattern() != fill.pattern()), "{fill:?}");
                assert!(chart[..at].iter().all(|other| other.colour() != fill.colour()), "{fill:?}");
            }
        }
    }
}
