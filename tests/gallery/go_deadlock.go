// SPDX-License-Identifier: MIT
// A channel that nobody reads from any more.
package main

import "fmt"

type result struct {
	id, value int
}

func produce(results chan<- result, count int) {
	for id := 0; id < count; id++ {
		results <- result{id, id * id} // HERE
	}
}

func first(results <-chan result) result {
	return <-results
}

func main() {
	results := make(chan result)
	done := make(chan bool)
	go func() {
		fmt.Println(first(results).value)
		<-done
	}()
	produce(results, 2)
	done <- true
}
