// SPDX-License-Identifier: MIT
// An unsigned number becomes negative.
struct Range {
    from: u32,
    to: u32,
}

impl Range {
    fn length(&self) -> u32 {
        self.to - self.from // HERE
    }
}

fn longest(ranges: &[Range]) -> u32 {
    ranges.iter().map(|range| range.length()).max().unwrap_or(0)
}

fn main() {
    let good = [Range { from: 1, to: 4 }];
    let odd = [Range { from: 1, to: 4 }, Range { from: 9, to: 2 }];
    println!("{}", longest(&good));
    println!("{}", longest(&odd));
}
