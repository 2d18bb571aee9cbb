package pipeline

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// Machines describes equal machines with shared storage, for [PlanConfig].Machines.
type Machines struct {
	Counts  []int   // numbers of machines; each results in a row of the table
	Cores   int     // cores of a machine; each runs one task at a time
	Network int64   // bytes per second between a machine and the storage
	Disk    int64   // bytes per second of the local disk, used if there is a single machine
	Latency float64 // median duration of a request to the storage, in seconds
	Seed    uint64
}

// A PlannedScale is the predicted duration of a run on a number of machines. Times
// are in seconds. docs/scale.md explains the model and what it omits.
type PlannedScale struct {
	Machines int     `json:"machines"`
	Seconds  float64 `json:"seconds"`  // median over the simulated runs
	Worst    float64 `json:"worst"`    // slowest simulated run
	Serial   float64 `json:"serial"`   // part of Seconds in which a single process plans, merges or writes a manifest
	Busy     float64 `json:"busy"`     // fraction of all cores' time spent on tasks
	Failures float64 `json:"failures"` // average number of lost machines in a run
	Memory   int64   `json:"memory"`   // bytes for all processes on one machine
	Disk     int64   `json:"disk"`     // bytes of local disk on one machine, for unnamed files
	Network  int64   `json:"network"`  // bytes that one machine reads and writes
	Requests int64   `json:"requests"` // number of requests to the storage by all machines
	// Limited contains the stages that the storage's limits of requests slow down.
	Limited []string `json:"limited,omitempty"`
}

// Assumptions of the simulation, not measured in this project.
const (
	simulatedRuns    = 9
	taskSpread       = 0.15         // sigma of the log-normal duration of a task
	machineSpread    = 0.05         // sigma of the log-normal speed of a machine
	slowMachines     = 0.02         // fraction of machines that work at half speed
	latencySpread    = 0.7          // sigma of the log-normal duration of a request: one in a hundred takes five times the median
	betweenFailures  = 60 * 86400.0 // mean seconds until a machine is lost
	restartAfterLoss = 30.0         // seconds until a cluster has restarted a stage
)

// scale predicts the run p on each number of machines in c.Machines. Its error is that of
// ctx.
func (c PlanConfig) scale(ctx context.Context, p *Plan) ([]PlannedScale, error) {
	stages := c.scaleStages(p)
	var rows []PlannedScale
	for _, n := range c.Machines.Counts {
		row := c.Machines.fixed(stages, n)
		var runs []simulation
		for run := range uint64(simulatedRuns) {
			s := simulation{Machines: c.Machines, n: n, random: newChance(c.Machines.Seed, run)}
			s.run(stages)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			runs = append(runs, s)
			row.Failures += float64(s.failures) / simulatedRuns
		}
		slices.SortFunc(runs, func(a, b simulation) int { return cmp.Compare(a.now, b.now) })
		middle := runs[len(runs)/2]
		row.Seconds, row.Worst, row.Serial = middle.now, runs[len(runs)-1].now, middle.serial
		row.Limited = middle.limited
		row.Busy = middle.busy / (middle.now * float64(n*c.Machines.Cores))
		rows = append(rows, row)
	}
	return rows, nil
}

// fixed returns the figures that do not depend on random numbers.
func (m Machines) fixed(stages []scaleStage, n int) PlannedScale {
	row := PlannedScale{Machines: n}
	for _, s := range stages {
		tasks := float64(s.Tasks)
		row.Memory = max(row.Memory, s.memory(m.Cores))
		row.Disk = max(row.Disk, int64(s.Scratch*float64(min(m.Cores, s.Tasks))))
		if n > 1 { // a single machine uses its local disk as storage
			row.Network += int64((s.Read + s.Written) * tasks / float64(min(n, s.Tasks)))
			row.Requests += int64(s.requests()*tasks+s.Driver) + stageRequests + listings*int64(s.Files*tasks/listedNames) + workerRequests*int64(min(n, s.Tasks))
		}
	}
	return row
}

// A simulation is the state of one simulated run.
type simulation struct {
	Machines
	n        int // number of machines
	random   *rand.Rand
	now      float64 // seconds since the start
	serial   float64
	busy     float64 // core seconds spent on tasks whose results were not lost
	failures int
	limited  []string // stages that wait for the storage's limits
}

func (s *simulation) run(stages []scaleStage) {
	for _, st := range stages {
		serial := st.Serial
		if s.n > 1 {
			serial += clusterJob + s.waits(st)*s.request()
		}
		s.now, s.serial = s.now+serial, s.serial+serial
		s.tasks(st)
	}
}

// request returns the mean duration of a request.
func (m Machines) request() float64 { return m.Latency * math.Exp(latencySpread*latencySpread/2) }

// waits returns the number of requests of the driver of a stage for which it waits one after
// the other.
func (m Machines) waits(st scaleStage) float64 {
	return stageWaits + st.Waits + listings*math.Ceil(st.Files*st.tasks()/listedNames)
}

// spread returns a random log-normal factor with median 1.
func (s *simulation) spread(sigma float64) float64 { return math.Exp(sigma * s.random.NormFloat64()) }

// tasks simulates the tasks of a stage. If a machine is lost, the stage starts again: it
// checks the hashes of finished tasks and repeats all others.
func (s *simulation) tasks(st scaleStage) {
	left, done := st.Tasks, 0
	for left > 0 {
		ends := s.schedule(st, left)
		end := max(slices.Max(ends), s.longest(st))
		if s.n > 1 {
			end = max(end, (st.Read+st.Written)*float64(left)/float64(s.Network)/float64(s.n))
		}
		// The requests of a second pass at once, so a limit that is nearly met slows nothing down.
		// The last task whose requests the storage lets pass still has to run.
		if limit := st.limit(left); s.n > 1 && s.Latency > 0 && limit > 0.8*end && limit+s.seconds(st) > end {
			if end = limit + s.seconds(st); !slices.Contains(s.limited, st.Name) {
				s.limited = append(s.limited, st.Name)
			}
		}
		loss := s.random.ExpFloat64() * betweenFailures / float64(s.n)
		if loss >= end || s.n == 1 {
			s.now += end
			break
		}
		finished := 0
		for _, e := range ends {
			if e <= loss {
				finished++
			}
		}
		left, done = left-finished, done+finished
		proof := float64(done) * st.Written / hashSpeed / float64(s.n*s.Cores)
		s.now += loss + restartAfterLoss + clusterJob + proof
		s.failures++
	}
	s.busy += float64(st.Tasks) * s.seconds(st)
}

// seconds returns the duration of a task on a machine of average speed. It is the sum of
// computing, transfer and waiting for requests, because a task does these one after
// another.
func (s *simulation) seconds(st scaleStage) float64 {
	bytes, cores := st.Read+st.Written, float64(s.Cores)
	if s.n == 1 {
		return st.CPU + bytes/(float64(s.Disk)/cores)
	}
	return st.CPU + bytes/min(streamSpeed, float64(s.Network)) + st.requests()*s.request()
}

// longest returns the least time of a stage, in seconds: that of its largest archive, which
// one machine reads. The network or disk of the machine is then free for it.
func (s *simulation) longest(st scaleStage) (seconds float64) {
	rate := s.Network
	if s.n == 1 {
		rate = s.Disk
	}
	for _, a := range st.Archives {
		seconds = max(seconds, max(a.Serial, (a.Serial+a.Shared)/float64(s.Cores))+a.Bytes/float64(rate))
	}
	return seconds
}

// schedule assigns each task to the core that is free first. It returns the end of each
// task in seconds from now.
func (s *simulation) schedule(st scaleStage, tasks int) (ends []float64) {
	free := make(coreHeap, min(s.n*s.Cores, tasks))
	speed := make([]float64, s.n)
	for i := range speed {
		speed[i] = s.spread(machineSpread)
		if s.random.Float64() < slowMachines {
			speed[i] *= 2
		}
	}
	for i := range free {
		free[i].seconds = speed[i%s.n] // the first tasks start on different machines
	}
	other := s.seconds(st) - st.CPU // of moving bytes and waiting for requests, which a slow machine does as fast
	for range tasks {
		core := &free[0]
		core.free += st.CPU*core.seconds*s.spread(taskSpread) + other
		ends = append(ends, core.free)
		heap.Fix(&free, 0)
	}
	return ends
}

// A core has the time when it becomes free, and a factor for the duration of its tasks.
type core struct{ free, seconds float64 }

// coreHeap is a heap whose first element is the core that is free first.
type coreHeap []core

func (h coreHeap) Len() int           { return len(h) }
func (h coreHeap) Less(i, j int) bool { return h[i].free < h[j].free }
func (h coreHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *coreHeap) Push(any)          { panic("BUG: the number of cores is fixed") }
func (h *coreHeap) Pop() any          { panic("BUG: the number of cores is fixed") }

// newChance returns the random number generator for a simulated run.
func newChance(seed, run uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, run)) }
