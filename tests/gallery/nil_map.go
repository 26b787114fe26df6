// SPDX-License-Identifier: MIT
// A map that was declared and never made.
package main

import (
	"fmt"
	"strings"
)

type Counter struct {
	counts map[string]int
	total  int
}

func (c *Counter) Add(word string) {
	c.counts[word]++ // HERE
	c.total++
}

func count(text string) *Counter {
	counter := &Counter{}
	for _, word := range strings.Fields(text) {
		counter.Add(word)
	}
	return counter
}

func main() {
	counter := count("to be or not to be")
	fmt.Println(counter.total)
}
