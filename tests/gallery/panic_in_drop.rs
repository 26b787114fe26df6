// SPDX-License-Identifier: MIT
// A panic while another one unwinds: abort.
struct Journal {
    lines: Vec<String>,
    open: bool,
}

impl Journal {
    fn write(&mut self, line: &str) {
        if line.is_empty() {
            panic!("an empty line");
        }
        self.lines.push(line.to_string());
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.open {
            panic!("the journal was not closed"); // HERE
        }
    }
}

fn record(lines: &[&str]) -> usize {
    let mut journal = Journal { lines: Vec::new(), open: true };
    for line in lines {
        journal.write(line);
    }
    journal.open = false;
    journal.lines.len()
}

fn main() {
    println!("{}", record(&["one", "two"]));
    println!("{}", record(&["one", ""]));
}
