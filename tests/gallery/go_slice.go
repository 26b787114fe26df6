// SPDX-License-Identifier: MIT
// A line that is shorter than its columns.
package main

import (
	"fmt"
	"strings"
)

func column(line string, from, to int) string {
	return line[from:to] // HERE
}

func names(text string) []string {
	var all []string
	for _, line := range strings.Split(text, "\n") {
		all = append(all, column(line, 4, 8))
	}
	return all
}

func main() {
	fmt.Println(names("1   Anna\n2   Bert\n3"))
}
