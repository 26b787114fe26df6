// SPDX-License-Identifier: MIT
// panics index|unwrap|abort|overflow: ends itself that way. tests/e2e/crashes.py
use std::collections::HashMap;

#[inline(never)]
fn look_up(numbers: &HashMap<String, u32>, name: &str) -> u32 {
    numbers[name] // @index
}

#[inline(never)]
fn descend(n: u64) -> u64 {
    let bytes = [n; 64];
    if n == u64::MAX { 0 } else { descend(n + 1) + bytes[(n % 64) as usize] }
}

fn main() {
    let how = std::env::args().nth(1).unwrap_or_default();
    let mut numbers = HashMap::new();

    numbers.insert("one".to_string(), 1);
    match how.as_str() {
        "index" => println!("{}", look_up(&numbers, "two")),
        "unwrap" => println!("{}", numbers.get("two").unwrap()),
        "abort" => std::process::abort(), // @abort
        _ => println!("{}", descend(0)),
    }
}
