// SPDX-License-Identifier: MIT
// An index out of bounds, in a thread that is joined.
use std::thread;

struct Matrix {
    cells: Vec<i64>,
    width: usize,
}

impl Matrix {
    fn new(width: usize, height: usize) -> Matrix {
        Matrix { cells: vec![1; width * height], width }
    }

    fn at(&self, x: usize, y: usize) -> i64 {
        self.cells[y * self.width + x] // HERE
    }
}

fn diagonal(matrix: &Matrix, size: usize) -> i64 {
    (0..size).map(|i| matrix.at(i, i)).sum()
}

fn main() {
    let worker = thread::spawn(|| {
        let matrix = Matrix::new(4, 3);
        diagonal(&matrix, 4)
    });
    println!("{}", worker.join().unwrap());
}
