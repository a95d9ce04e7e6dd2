//! The random number generator of the tests, with the draws that they need.

/// A seeded sequence of numbers: a seed gives the same numbers on every machine and in every release.
pub struct Rng(rescreen::model::rng::Rng);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(rescreen::model::rng::Rng::new(seed))
    }

    pub fn roll(&mut self) -> u64 {
        self.0.roll()
    }

    /// A number from `least` to `most`, both included.
    pub fn from(&mut self, least: u64, most: u64) -> u64 {
        least + self.roll() % (most - least + 1)
    }

    /// A number below a limit; 0 for the limit 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.roll() as usize % limit.max(1)
    }

    /// Whether an event occurs that has this probability in percent.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.roll() % 100 < percent
    }

    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.from(0, list.len() as u64 - 1) as usize]
    }
}
