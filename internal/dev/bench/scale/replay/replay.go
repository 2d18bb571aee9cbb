// Package replay replays the requests of recorded tasks on simulated machines and a
// simulated object store, in virtual time: a judge for what plan --machines predicts. It
// shares no code with the prediction.
//
// A stage is what its real tasks ask of the store, one request after the other, and the time
// that they compute. Tasks are dealt to the machines as Flink deals them; a machine that has
// done its own helps others as package stage does: it lists the folder, claims tasks without a
// side-car and runs them. The store answers after a log-normal time, has limits of requests
// for each prefix and refuses what exceeds them; the client pauses and asks again, as package
// store does. The bytes of a machine's requests share its network.
package replay

import (
	"container/heap"
	"math"
	"math/rand/v2"
)

// A Task is a recorded task.
type Task struct {
	Reads  []Request // before it computes
	Writes []Request // after it
}

// A Stage is a stage to replay.
type Stage struct {
	Tasks   int
	Record  []Task    // recorded tasks; task i is replayed as Record[i % len]
	CPU     float64   // seconds of a task on a usual machine
	Start   []Request // requests of a worker process before its first task
	Files   int       // files in the folder at the end of the stage
	Folder  string    // prefix of the folder
	Plans   string    // prefix of its plans
	Listing int       // names in a page of a listing
}

// A Config describes machines and their store.
type Config struct {
	Machines, Cores int
	Network         float64 // bytes per second of a machine
	Store           Store
	Seed            uint64
	Even            bool // all machines and tasks are alike
}

// Assumptions about machines, those of docs/scale.md.
const (
	taskSpread    = 0.15
	machineSpread = 0.05
	slowMachines  = 0.02
)

// A Result is the outcome of a replay.
type Result struct {
	Seconds  float64
	Requests int64 // without those that were refused
	Retries  int64
	GaveUp   int64 // requests for which the client lost its patience: the run would have failed
}

// A machine runs tasks.
type machine struct {
	queue   []int   // tasks dealt to it that have not begun
	running int     // tasks in hand
	wire    float64 // when its network is free
	speed   float64 // factor of its computing time
	longest float64 // of its tasks
	helper  *helper // nil: it has own tasks
	over    bool
}

// A sim is a running replay.
type sim struct {
	config   Config
	stage    Stage
	random   *rand.Rand
	now      float64
	events   events
	limiters map[place]*limiter
	machines []machine
	done     []bool // tasks that have a side-car
	left     int
	marked   bool        // a helper has found all tasks done
	claims   map[int]int // number of claims of a task
	result   Result
}

// Run replays a stage.
func Run(c Config, st Stage) Result {
	s := &sim{config: c, stage: st, random: rand.New(rand.NewPCG(c.Seed, 30)), limiters: map[place]*limiter{},
		machines: make([]machine, c.Machines), done: make([]bool, st.Tasks), left: st.Tasks, claims: map[int]int{}}
	for i := range s.machines {
		m := &s.machines[i]
		m.speed = 1
		if !c.Even {
			m.speed = s.spread(machineSpread)
			if s.random.Float64() < slowMachines {
				m.speed *= 2
			}
		}
		for t := i; t < st.Tasks; t += c.Machines {
			m.queue = append(m.queue, t)
		}
		if len(m.queue) > 0 {
			s.requests(m, st.Start, func() { s.fill(m); s.look(m) })
		}
	}
	for len(s.events) > 0 {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
	return s.result
}

func (s *sim) spread(sigma float64) float64 { return math.Exp(sigma * s.random.NormFloat64()) }

// fill starts a machine's own tasks in its free slots; without any it helps.
func (s *sim) fill(m *machine) {
	for m.running < s.config.Cores && len(m.queue) > 0 {
		task := m.queue[0]
		m.queue = m.queue[1:]
		m.running++
		s.run(m, task, func() {
			m.running--
			s.fill(m)
		})
	}
	if m.running == 0 && len(m.queue) == 0 && m.helper == nil {
		s.help(m)
	}
}

// run runs a task, unless it is done.
func (s *sim) run(m *machine, task int, then func()) {
	record := s.stage.Record[task%len(s.stage.Record)]
	if s.done[task] { // its plan and its side-car
		s.requests(m, record.Reads[:min(2, len(record.Reads))], then)
		return
	}
	began, cpu := s.now, s.stage.CPU*m.speed
	if !s.config.Even {
		cpu *= s.spread(taskSpread)
	}
	s.requests(m, record.Reads, func() {
		s.after(cpu, func() {
			s.requests(m, record.Writes, func() {
				if !s.done[task] {
					s.done[task] = true
					s.left--
				}
				m.longest = math.Max(m.longest, s.now-began)
				then()
			})
		})
	})
}

// look lists the claims from time to time, as long as a machine has tasks.
func (s *sim) look(m *machine) {
	s.after(1+m.longest/8, func() {
		if m.over {
			return
		}
		s.request(m, Request{Kind: Put, Prefix: s.stage.Plans}, func() { s.look(m) })
	})
}

// end ends a machine's part of the stage.
func (s *sim) end(m *machine) {
	m.over = true
	s.result.Seconds = math.Max(s.result.Seconds, s.now)
}

// after calls do after some seconds.
func (s *sim) after(seconds float64, do func()) {
	heap.Push(&s.events, event{s.now + seconds, do})
}

type event struct {
	at float64
	do func()
}

// events is a heap of events by time.
type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
