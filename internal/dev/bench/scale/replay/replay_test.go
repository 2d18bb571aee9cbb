package replay

import (
	"math"
	"testing"
)

// Without chances and limits a replay takes as long as the requests and the computing of the
// rounds of tasks; the network and the limits of the store are lower bounds.
func TestAReplayTakesTheTimeOfItsParts(t *testing.T) {
	read, write := Request{Get, "in", 1e6}, Request{Put, "out", 2e6}
	stage := Stage{Tasks: 400, Record: []Task{{Reads: []Request{read, read}, Writes: []Request{write}}}, CPU: 2, Files: 1200, Folder: "out", Plans: "out/plan", Listing: 1000}
	config := Config{Machines: 10, Cores: 4, Network: 1e9, Store: Store{Latency: 0.1, Stream: 1e8}, Seed: 1, Even: true}
	rounds := 10 * (2 + 3*0.1 + (1e6+1e6+2e6)/1e8)
	r := Run(config, stage)
	if r.Seconds < rounds || r.Seconds > rounds+4 || r.Retries != 0 || r.Requests < 400*3 || r.Requests > 400*3+300 {
		t.Errorf("%+v, want %.2f s and the time to see the end, and 1,200 requests and those of helpers", r, rounds)
	}
	if again := Run(config, stage); again != r {
		t.Errorf("%+v, then %+v", r, again)
	}
	config.Network = 1e7
	if r := Run(config, stage); r.Seconds < 40*4e6/1e7 {
		t.Errorf("%.1f s, the network alone takes 16", r.Seconds)
	}
	config.Network, config.Store.Gets = 1e9, 10
	if r := Run(config, stage); r.Seconds < (400*2-10)/10 || r.Seconds > 120 || r.Retries == 0 || r.GaveUp != 0 {
		t.Errorf("%+v, the limit of 10 GET a second alone takes 79 s", r)
	}
}

// A slow machine does not keep its tasks: the others take them when they have done theirs.
func TestMachinesHelpASlowOne(t *testing.T) {
	stage := Stage{Tasks: 1000, Record: []Task{{Reads: []Request{{Get, "in", 1}, {Get, "out", 1}}, Writes: []Request{{Put, "out", 1}}}}, CPU: 1, Files: 3000, Folder: "out", Plans: "out/plan", Listing: 1000}
	config := Config{Machines: 50, Cores: 1, Network: 1e9, Store: S3()}
	for seed := range uint64(20) {
		config.Seed = seed
		r := Run(config, stage)
		if r.Seconds > 1.6*20*(1+3*0.04) {
			t.Errorf("seed %d: %.1f s; without help a machine at half speed takes 42", seed, r.Seconds)
		}
		if math.IsNaN(r.Seconds) || r.Requests < 3000 {
			t.Errorf("seed %d: %+v", seed, r)
		}
	}
}
