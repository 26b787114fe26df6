// SPDX-License-Identifier: MIT
// A list whose end leads back to its beginning is counted.
struct Node {
    next: usize,
    weight: u64,
}

fn weight_from(nodes: &[Node], at: usize) -> u64 {
    let node = &nodes[at];
    let path = [node.weight; 64];
    path[0] + weight_from(nodes, node.next) // HERE
}

fn main() {
    let nodes = vec![Node { next: 1, weight: 3 }, Node { next: 2, weight: 4 }, Node { next: 0, weight: 5 }];
    println!("{}", weight_from(&nodes, 0));
}
