package replay

import "slices"

// A helper is a machine that has done its own tasks.
type helper struct {
	open  []int // tasks without a side-car when it listed last
	begun float64
	seen  map[int]float64 // when it saw the latest claim of a task
	known map[int]int     // number of claims that it knows
	mine  map[int]bool
}

// help makes a helper of a machine: it lists the folder and reads the table of plans.
func (s *sim) help(m *machine) {
	h := &helper{begun: s.now, seen: map[int]float64{}, known: map[int]int{}, mine: map[int]bool{}}
	m.helper = h
	if s.config.Machines < 2 {
		s.end(m)
		return
	}
	s.wait(m)
}

// lookers is how many helpers list the folder at a time, on average.
const lookers = 16

// looks reports whether a helper lists the folder this time.
func (s *sim) looks() bool { return s.random.IntN(s.config.Machines) < lookers }

// wait waits until it is the helper's turn to list the folder.
func (s *sim) wait(m *machine) {
	if !s.looks() {
		s.request(m, Request{Kind: Put, Prefix: s.stage.Plans}, func() {
			if s.marked {
				s.end(m)
				return
			}
			s.after(1, func() { s.wait(m) })
		})
		return
	}
	s.list(m, func() {
		table := Request{Kind: Get, Prefix: s.stage.Plans, Bytes: int64(8 * s.stage.Tasks)}
		s.requests(m, []Request{table, table}, func() {
			m.helper.begun = s.now
			for t, done := range s.done {
				if !done {
					m.helper.open = append(m.helper.open, t)
				}
			}
			s.learn(m)
		})
	})
}

// list lists the folder of the stage.
func (s *sim) list(m *machine, then func()) {
	done := 1 - float64(s.left)/float64(s.stage.Tasks)
	pages := 1 + int(done*float64(s.stage.Files))/s.stage.Listing
	list := make([]Request, pages)
	for i := range list {
		list[i] = Request{Kind: Put, Prefix: s.stage.Folder}
	}
	s.requests(m, list, then)
}

// refresh looks what is done, if it is the helper's turn.
func (s *sim) refresh(m *machine) {
	if !s.looks() {
		s.learn(m)
		return
	}
	s.list(m, func() {
		m.helper.open = slices.DeleteFunc(m.helper.open, func(t int) bool { return s.done[t] })
		s.learn(m)
	})
}

// learn learns what is claimed, takes tasks and looks again after a second.
func (s *sim) learn(m *machine) {
	h := m.helper
	if len(h.open) == 0 {
		s.marked = s.marked || s.config.Machines > lookers
		s.end(m)
		return
	}
	s.request(m, Request{Kind: Put, Prefix: s.stage.Plans}, func() {
		if s.marked {
			s.end(m)
			return
		}
		for t, n := range s.claims {
			if n > h.known[t] {
				h.known[t], h.seen[t] = n, s.now
			}
		}
		s.claim(m)
		s.after(1, func() { s.refresh(m) })
	})
}

// claim takes a task for a free slot.
func (s *sim) claim(m *machine) {
	h := m.helper
	if m.over || m.running >= s.config.Cores {
		return
	}
	patience := 20.0
	if m.longest > 0 {
		patience = 2 + 2*m.longest
	}
	slots := s.config.Machines * s.config.Cores
	waits := len(h.open) <= slots && s.now-h.begun < patience
	var free []int
	for _, t := range h.open {
		claimed := h.known[t] > 0
		switch {
		case h.mine[t] || !claimed && waits:
		case claimed && s.now-h.seen[t] < patience:
		default:
			free = append(free, t)
		}
	}
	if len(free) == 0 {
		return
	}
	task := free[s.random.IntN(len(free))]
	number := h.known[task] + 1
	m.running++
	h.mine[task] = true
	s.request(m, Request{Kind: Put, Prefix: s.stage.Plans}, func() {
		h.known[task], h.seen[task] = max(number, s.claims[task]), s.now
		if s.claims[task] >= number { // another was first
			m.running--
			delete(h.mine, task)
			s.claim(m)
			return
		}
		s.claims[task] = number
		s.claim(m)
		s.run(m, task, func() {
			m.running--
			delete(h.mine, task)
			h.open = slices.DeleteFunc(h.open, func(t int) bool { return t == task })
			s.claim(m)
		})
	})
}
