package survey

import "math"

// sigmas is the limit for the difference between a fraction and its expected value, in
// standard deviations. By chance, one in 16,000 fractions differs by more than four.
const sigmas = 4

// A Share is the fraction Count/Of. Its limits are computed from the options of the
// records.
type Share struct {
	Count int64   `json:"count"`
	Of    int64   `json:"of"`
	Share float64 `json:"share"` // Count/Of; 0 if Of is 0

	// Limits is nil if the options of the records are unknown.
	Limits *Limits `json:"limits,omitempty"`
}

// Limits are the expected value and the expected range of a share.
type Limits struct {
	Expected float64 `json:"expected"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Within   bool    `json:"within"`
	Why      string  `json:"why"` // explanation of the expected value
}

// newShare returns a share without limits.
func newShare(count, of int64) Share {
	s := Share{Count: count, Of: of}
	if of > 0 {
		s.Share = float64(count) / float64(of)
	}
	return s
}

// limit returns s with the limits l and sets Within.
func (s Share) limit(l Limits) Share {
	const slack = 1e-12 // sums of floats may differ in their last bits
	l.Within = s.Of == 0 || s.Share >= l.Low-slack && s.Share <= l.High+slack
	s.Limits = &l
	return s
}

// binomial returns s with the limits p ± 4 √(p(1-p)/n) for n independent draws with
// probability p.
func (s Share) binomial(p float64, why string) Share {
	d := deviation(p, s.Of)
	return s.limit(Limits{Expected: p, Low: max(0, p-d), High: min(1, p+d), Why: why})
}

// atLeast returns s with the limits for independent draws with probability p or more.
func (s Share) atLeast(p float64, why string) Share {
	return s.limit(Limits{Expected: p, Low: max(0, p-deviation(p, s.Of)), High: 1, Why: why})
}

// deviation returns four standard deviations of the fraction of successes in n draws with
// probability p.
func deviation(p float64, n int64) float64 {
	if n == 0 {
		return 1
	}
	return sigmas * math.Sqrt(p*(1-p)/float64(n))
}
