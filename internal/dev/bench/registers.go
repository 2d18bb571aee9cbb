package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// registersName is the row of the machine's own limit in the results of scaling.
const registersName = "arithmetic in registers"

// registersSteps take about 0.3 s.
const registersSteps = 40_000_000

// addRegisters measures pure arithmetic, as much as there are workers: in one
// goroutine, and in one goroutine for each. The work needs no memory and has no
// serial part. So its loss of speed with several goroutines is that of the machine,
// whose processors share units, clock frequency or time with others.
func (c *scaling) addRegisters(steps int) {
	s := c.Wall[registersName]
	begun := time.Now()
	for range c.Workers {
		registers(steps)
	}
	s.One = append(s.One, time.Since(begun).Seconds())
	begun = time.Now()
	var wg sync.WaitGroup
	for range c.Workers {
		wg.Go(func() { registers(steps) })
	}
	wg.Wait()
	s.Several = append(s.Several, time.Since(begun).Seconds())
	c.Wall[registersName] = s
}

var registersSink atomic.Uint64 // so that the compiler keeps the work

// registers computes eight independent chains of arithmetic, which keep all units of
// a processor busy.
func registers(steps int) {
	a, b, c, d, e, f, g, h := uint64(1), uint64(2), uint64(3), uint64(4), uint64(5), uint64(6), uint64(7), uint64(8)
	for range steps {
		a = (a*3 + 1) ^ a>>3
		b = (b*5 + 1) ^ b>>3
		c = (c*7 + 1) ^ c>>3
		d = (d*9 + 1) ^ d>>3
		e = (e*3 + 2) ^ e>>3
		f = (f*5 + 2) ^ f>>3
		g = (g*7 + 2) ^ g>>3
		h = (h*9 + 2) ^ h>>3
	}
	registersSink.Add(a ^ b ^ c ^ d ^ e ^ f ^ g ^ h)
}
