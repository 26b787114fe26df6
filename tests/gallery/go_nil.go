// SPDX-License-Identifier: MIT
// A tree whose leaf has no child.
package main

import "fmt"

type node struct {
	key         int
	left, right *node
}

func (n *node) smallest() int {
	for n.left.key < n.key { // HERE
		n = n.left
	}
	return n.key
}

func insert(n *node, key int) *node {
	if n == nil {
		return &node{key: key}
	}
	if key < n.key {
		n.left = insert(n.left, key)
	} else {
		n.right = insert(n.right, key)
	}
	return n
}

func main() {
	var root *node
	for _, key := range []int{5, 3, 8} {
		root = insert(root, key)
	}
	fmt.Println(root.smallest())
}
