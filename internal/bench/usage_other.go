//go:build !unix

package main

import "time"

// began is when the program did.
var began = time.Now()

// cpuTime stands for processor time by the clock, which is right for one
// goroutine on a machine that has nothing else to do.
func cpuTime() time.Duration { return time.Since(began) }
