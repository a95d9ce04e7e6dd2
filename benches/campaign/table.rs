//! The table: goals, measured figures, and whether the goals are met. It decides how figures are formatted.

use rescreen::pipeline::wording::grouped;

/// A line of the table.
pub struct Line {
    /// The goal's number, or empty if there is no goal.
    goal: &'static str,
    what: String,
    measured: String,
    wanted: String,
    met: Option<bool>,
}

impl Line {
    /// A figure that must be at least `least`.
    pub fn least(goal: &'static str, what: impl Into<String>, figure: f64, least: f64, unit: &str) -> Line {
        let (measured, wanted) = (written(figure, unit), format!("at least {}", written(least, unit)));
        Line { goal, what: what.into(), measured, wanted, met: Some(figure >= least) }
    }

    /// A figure that must be at most `most`.
    pub fn most(goal: &'static str, what: impl Into<String>, figure: f64, most: f64, unit: &str) -> Line {
        let (measured, wanted) = (written(figure, unit), format!("at most {}", written(most, unit)));
        Line { goal, what: what.into(), measured, wanted, met: Some(figure <= most) }
    }

    /// A figure without a goal.
    pub fn plain(goal: &'static str, what: impl Into<String>, measured: impl Into<String>) -> Line {
        Line { goal, what: what.into(), measured: measured.into(), wanted: String::new(), met: None }
    }

    /// A figure that was not measured on this system or at this size.
    pub fn none(goal: &'static str, what: impl Into<String>, reason: &str) -> Line {
        Line::plain(goal, what, format!("not measured: {reason}"))
    }

    pub fn print(&self) {
        let met = match self.met {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "",
        };
        println!("| {} | {} | {} | {} | {met} |", self.goal, self.what, self.measured, self.wanted);
    }
}

pub fn head() {
    println!("| goal | what | measured | wanted | met |\n|---|---|---|---|---|");
}

/// Formats a figure with three significant digits.
pub fn written(figure: f64, unit: &str) -> String {
    let text = match figure.abs() {
        size if size >= 100.0 => grouped(figure.round() as u64),
        size if size >= 10.0 => format!("{figure:.1}"),
        size if size >= 1.0 => format!("{figure:.2}"),
        _ => format!("{figure:.3}"),
    };
    if unit.is_empty() { text } else { format!("{text} {unit}") }
}

/// The median of figures.
pub fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    match figures.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => figures[count / 2],
        count => f64::midpoint(figures[count / 2 - 1], figures[count / 2]),
    }
}

pub fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
