//! Horizontal bars, one below the other. Each has its name and its value above it, and one or more segments.

use super::{Fill, area, begun, escaped, line, short};
use crate::pipeline::{report_page::block::shortened, wording::grouped};

/// The height that a bar takes with its text, and that of the bar alone, in pixels.
const ROW: f64 = 50.0;
const BAR: f64 = 20.0;
/// Where the text stands above its bar.
const TEXT: f64 = 16.0;
/// The least width of a segment, in percent of the chart, so that it can be seen.
const NARROWEST: f64 = 1.0;
/// The longest name that fits beside a value on a phone, in characters.
const NAME_MAX: usize = 40;

/// Several bars.
pub struct Stacks<'a> {
    /// Begins the ids of the chart. It is unique on the page.
    pub id: &'a str,
    pub title: &'a str,
    pub description: &'a str,
    pub stacks: &'a [Stack],
}

/// A bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    pub name: String,
    /// What the bar shows, in words.
    pub value: String,
    pub segments: Vec<Segment>,
    /// The count that fills the width of the chart.
    pub full: u64,
}

/// A part of a bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub fill: Fill,
    pub name: String,
    pub count: u64,
}

impl Stacks<'_> {
    pub fn svg(&self) -> String {
        let mut svg = begun(self.id, self.title, self.description, ROW * self.stacks.len() as f64);
        for (at, stack) in self.stacks.iter().enumerate() {
            let top = ROW * at as f64;
            let text = short(top + TEXT);
            line(
                &mut svg,
                &format!("<text x=\"0\" y=\"{text}\">{}</text>", escaped(&shortened(&stack.name, NAME_MAX))),
            );
            let value = escaped(&stack.value);
            line(&mut svg, &format!("<text class=\"value\" x=\"100%\" y=\"{text}\">{value}</text>"));
            let down = (top + TEXT + 7.0, BAR);
            let (y, height) = (short(down.0), short(down.1));
            line(&mut svg, &format!("<rect class=\"track\" x=\"0\" y=\"{y}\" width=\"100%\" height=\"{height}\"/>"));
            let mut from = 0.0;
            for (segment, width) in stack.segments.iter().zip(widths(stack)) {
                if width > 0.0 {
                    let title = format!("{}: {}", segment.name, grouped(segment.count));
                    area(&mut svg, segment.fill, (from, width), down, &title);
                    from += width;
                }
            }
        }
        svg.push_str("</svg>");
        svg
    }
}

/// The widths of the segments in percent. A segment that is too narrow to be seen takes what it needs from the widest.
fn widths(stack: &Stack) -> Vec<f64> {
    let share = |segment: &Segment| segment.count as f64 * 100.0 / stack.full.max(1) as f64;
    let exact: Vec<f64> = stack.segments.iter().map(share).collect();
    let mut seen: Vec<f64> = exact.iter().map(|width| if *width > 0.0 { width.max(NARROWEST) } else { 0.0 }).collect();
    let over = seen.iter().sum::<f64>() - exact.iter().sum::<f64>().clamp(NARROWEST, 100.0);
    if let Some(widest) = seen.iter_mut().max_by(|one, other| one.total_cmp(other))
        && over > 0.0
    {
        *widest = (*widest - over).max(NARROWEST);
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(counts: &[u64], full: u64) -> Stack {
        let segment = |count: &u64| Segment { fill: Fill::Clear, name: "clear".to_owned(), count: *count };
        Stack { name: "a".to_owned(), value: "b".to_owned(), segments: counts.iter().map(segment).collect(), full }
    }

    #[test]
    fn the_segments_fill_the_bar_and_a_small_one_can_be_seen() {
        assert_eq!(widths(&stack(&[1, 3], 4)), [25.0, 75.0]);
        assert_eq!(widths(&stack(&[1, 1], 4)), [25.0, 25.0], "the rest of the bar stays empty");
        let small = widths(&stack(&[1, 0, 999_999], 1_000_000));
        assert_eq!((small[0], small[1]), (NARROWEST, 0.0));
        assert!((small.iter().sum::<f64>() - 100.0).abs() < 0.01, "{small:?}");
        assert_eq!(widths(&stack(&[0], 0)), [0.0], "nothing to show");
        assert_eq!(widths(&stack(&[1], 1_000_000)), [NARROWEST]);
    }

    #[test]
    fn names_from_outside_are_escaped() {
        let mut hostile = stack(&[1], 1);
        hostile.name = "<script>alert(1)</script>".to_owned();
        hostile.segments[0].name = "\"><svg onload=x>".to_owned();
        let svg = Stacks { id: "a", title: "<t>", description: "&d", stacks: &[hostile] }.svg();
        assert!(!svg.contains("<script") && !svg.contains("<svg onload") && svg.contains("&lt;script&gt;"), "{svg}");
        assert!(svg.contains(">&lt;t&gt;</title>") && svg.contains(">&amp;d</desc>"), "{svg}");
    }
}
