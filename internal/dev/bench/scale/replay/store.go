package replay

import "math"

// A Kind is a kind of request.
type Kind int

// Kinds of requests, as S3 limits them.
const (
	Get Kind = iota // GET and HEAD
	Put             // PUT, POST, DELETE and LIST
)

// A Request is a request of a recorded program to a store.
type Request struct {
	Kind   Kind
	Prefix string // the folder of the key
	Bytes  int64  // that the request moves
}

// A Store describes the object store of a replay.
type Store struct {
	Latency    float64 // median seconds of a request
	Spread     float64 // sigma of the log-normal duration
	Gets, Puts float64 // requests per second for each prefix; 0: no limit
	Stream     float64 // bytes per second of one request
}

// S3 is a store with the limits that Amazon S3 promises for each prefix, and the speed of one
// request that its guide of performance names.
func S3() Store { return Store{Latency: 0.03, Spread: 0.7, Gets: 5500, Puts: 3500, Stream: 85e6} }

// Pauses of the client after an answer 503, in seconds: those of package store.
const (
	firstPause   = 0.1
	longestPause = 5
	givesUp      = 1800
)

// A limiter is a bucket of tokens, a second's at most.
type limiter struct{ rate, tokens, seen float64 }

// take takes a token; ok is false if there is none.
func (l *limiter) take(now float64) (ok bool) {
	if l.rate == 0 {
		return true
	}
	l.tokens, l.seen = math.Min(l.rate, l.tokens+(now-l.seen)*l.rate), now
	if l.tokens < 1 {
		return false
	}
	l.tokens--
	return true
}

// limiter returns the limiter of a request.
func (s *sim) limiter(r Request) *limiter {
	key := place{r.Kind, r.Prefix}
	l := s.limiters[key]
	if l == nil {
		rate := s.config.Store.Gets
		if r.Kind == Put {
			rate = s.config.Store.Puts
		}
		l = &limiter{rate, rate, s.now}
		s.limiters[key] = l
	}
	return l
}

type place struct {
	kind   Kind
	prefix string
}

// latency returns the duration of a request without its bytes.
func (s *sim) latency() float64 {
	return s.config.Store.Latency * math.Exp(s.config.Store.Spread*s.random.NormFloat64())
}

// request makes a request of a machine, again after each answer 503, and then calls then.
func (s *sim) request(m *machine, r Request, then func()) {
	began, pause := s.now, float64(firstPause)
	var attempt func()
	attempt = func() {
		if !s.limiter(r).take(s.now) {
			s.result.Retries++
			if s.now-began > givesUp {
				s.result.GaveUp++
				then() // so that the replay ends; the caller reports it
				return
			}
			wait := s.latency() + pause/2 + s.random.Float64()*pause
			pause = math.Min(2*pause, longestPause)
			s.after(wait, attempt)
			return
		}
		s.result.Requests++
		s.after(s.latency(), func() {
			m.wire = math.Max(m.wire, s.now) + float64(r.Bytes)/s.config.Network
			s.after(math.Max(m.wire-s.now, float64(r.Bytes)/s.config.Store.Stream), then)
		})
	}
	attempt()
}

// requests makes requests one after the other.
func (s *sim) requests(m *machine, list []Request, then func()) {
	if len(list) == 0 {
		then()
		return
	}
	s.request(m, list[0], func() { s.requests(m, list[1:], then) })
}
