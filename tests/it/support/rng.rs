//! Reproducible random numbers. They are implemented here so that no seed changes its meaning with another version of a
//! crate.

/// A seeded sequence of numbers (splitmix64), the same on every machine and in every release.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
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
