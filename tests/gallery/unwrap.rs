// SPDX-License-Identifier: MIT
// An Option that is None.
use std::collections::HashMap;

struct Config {
    values: HashMap<String, String>,
}

impl Config {
    fn parse(text: &str) -> Config {
        let mut values = HashMap::new();
        for line in text.lines() {
            if let Some((key, value)) = line.split_once('=') {
                values.insert(key.trim().to_string(), value.trim().to_string());
            }
        }
        Config { values }
    }

    fn port(&self) -> u16 {
        self.values.get("port").unwrap().parse().unwrap_or(80) // HERE
    }
}

fn start(text: &str) -> u16 {
    let config = Config::parse(text);
    config.port()
}

fn main() {
    println!("{}", start("host = a\nport = 8080"));
    println!("{}", start("host = b"));
}
