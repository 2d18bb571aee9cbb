package pipeline

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/pipeline/stage"
	"pretext/sharding"
)

// scaledPlan returns a plan of much text, and its configuration.
func scaledPlan(counts ...int) (PlanConfig, *Plan) {
	c := PlanConfig{Run: RunConfig{Examples: sharding.DefaultExamplesOptions()}, Workers: 2,
		Machines: Machines{Counts: counts, Cores: 16, Network: 1e9, Disk: 1e9, Latency: 0.03, Seed: 1}}
	c.Run.Examples.Shards = 20_000
	p := &Plan{Sources: []PlannedSource{{Kind: KindWiki, Bytes: 200e9, TextBytes: 150e9, Documents: 60e6}}}
	p.reckon(c)
	return c, p
}

func TestTheTimeOfManyMachinesKeepsItsBounds(t *testing.T) {
	c, p := scaledPlan(1, 10, 100, 1000)
	rows := scaled(t, c, p)
	if again := scaled(t, c, p); !cmp.Equal(rows, again) {
		t.Error("the same seed gave other chances")
	}
	work, serial := 0.0, 0.0
	for _, s := range c.scaleStages(p) {
		work, serial = work+s.CPU*float64(s.Tasks), serial+s.Serial
	}
	last := math.Inf(1)
	for _, r := range rows {
		least := serial + work/float64(r.Machines*c.Machines.Cores)
		if r.Seconds < 0.95*least || r.Worst < r.Seconds || r.Serial < serial || r.Serial > r.Seconds || r.Busy <= 0 || r.Busy > 1.05 {
			t.Errorf("%+v: computing alone takes %.0f s, %.0f s of it serial", r, least, serial)
		}
		if r.Seconds > last {
			t.Errorf("%d machines take %.0f s, fewer took %.0f s", r.Machines, r.Seconds, last)
		}
		last = r.Seconds
	}
	if rows[0].Network != 0 || rows[0].Requests != 0 || rows[1].Network <= rows[2].Network {
		t.Errorf("network of 1, 10 and 100 machines: %d, %d, %d bytes", rows[0].Network, rows[1].Network, rows[2].Network)
	}
}

// A lost machine costs the tasks that it did not finish, a restart and the proof of
// the others; more losses cost more.
func TestLostMachinesCostTime(t *testing.T) {
	c, p := scaledPlan(100)
	usual := scaled(t, c, p)[0]
	c.Machines.Latency = 2 // a slow storage
	slow := scaled(t, c, p)[0]
	if slow.Seconds < 2*usual.Seconds {
		t.Errorf("requests of 2 s: %.0f s, of 0.03 s: %.0f s", slow.Seconds, usual.Seconds)
	}
	long := scaleStage{Name: "long", Tasks: 16 * 1000, CPU: 3600, Written: 1e9}
	s := simulation{Machines: c.Machines, n: 1000, random: newChance(1, 1)}
	s.tasks(long)
	if s.failures == 0 || s.now < 3600+float64(s.failures)*restartAfterLoss {
		t.Errorf("an hour on 1,000 machines took %.0f s with %d losses", s.now, s.failures)
	}
}

// Only one machine reads an archive of books, and one of its cores decompresses it. A
// folder of the same books is divided among all machines.
func TestAnArchiveIsReadByOneMachine(t *testing.T) {
	c, _ := scaledPlan(1, 10, 100)
	c.Run.Vocab = "vocab.txt"
	rows := map[bool][]PlannedScale{}
	for _, archive := range []bool{false, true} {
		p := &Plan{Sources: []PlannedSource{{Kind: KindBooks, Files: 1, Bytes: 40e9, TextBytes: 100e9, Documents: 250_000, Local: true, archive: archive}}}
		p.reckon(c)
		rows[archive] = scaled(t, c, p)
		memory := c.scaleStages(p)[0].memory(c.Machines.Cores)
		if want := map[bool]int64{false: stage.BaseMemory + 16*extractTaskMemory, true: stage.BaseMemory + extractTaskMemory + archiveMemory}[archive]; memory != want {
			t.Errorf("archive: %v: %d bytes of memory, want %d", archive, memory, want)
		}
	}
	least := 100e9 * archiveCPU
	folder, archive := rows[false], rows[true]
	if archive[2].Seconds < least || folder[2].Seconds > archive[2].Seconds-least/2 {
		t.Errorf("100 machines: %.0f s, in an archive %.0f s, want more than %.0f s", folder[2].Seconds, archive[2].Seconds, least)
	}
	if archive[1].Requests >= folder[1].Requests {
		t.Errorf("%d requests, in an archive %d", folder[1].Requests, archive[1].Requests)
	}
}

// scaled is [PlanConfig.scale] without an error.
func scaled(t *testing.T, c PlanConfig, p *Plan) []PlannedScale {
	t.Helper()
	rows, err := c.scale(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
