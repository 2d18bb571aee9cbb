package survey

import "math"

// sigmas is how many standard deviations a share may lie from what is expected
// of it. Chance alone goes beyond four of them once in 16,000 times.
const sigmas = 4

// A Share is a count, what it is a part of, and where the way of making the
// records demands it to lie.
type Share struct {
	Count int64   `json:"count"`
	Of    int64   `json:"of"`
	Share float64 `json:"share"` // Count/Of, 0 of nothing

	// Limits are nil where nothing is known of how the records were made.
	Limits *Limits `json:"limits,omitempty"`
}

// Limits say what a share must be.
type Limits struct {
	Expected float64 `json:"expected"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Within   bool    `json:"within"`
	Why      string  `json:"why"` // where the expectation comes from
}

// newShare returns a share without limits.
func newShare(count, of int64) Share {
	s := Share{Count: count, Of: of}
	if of > 0 {
		s.Share = float64(count) / float64(of)
	}
	return s
}

// limit holds the share against [low, high].
func (s Share) limit(expected, low, high float64, why string) Share {
	// Sums of floats may differ in their last bits.
	const slack = 1e-12
	s.Limits = &Limits{Expected: expected, Low: low, High: high, Why: why,
		Within: s.Of == 0 || s.Share >= low-slack && s.Share <= high+slack}
	return s
}

// binomial holds the share against what independent draws of probability p
// give: p ± 4 √(p(1-p)/n).
func (s Share) binomial(p float64, why string) Share {
	d := deviation(p, s.Of)
	return s.limit(p, math.Max(0, p-d), math.Min(1, p+d), why)
}

// atLeast holds the share against draws of a probability of p or more.
func (s Share) atLeast(p float64, why string) Share {
	return s.limit(p, math.Max(0, p-deviation(p, s.Of)), 1, why)
}

// deviation is four standard deviations of the share of n draws.
func deviation(p float64, n int64) float64 {
	if n == 0 {
		return 1
	}
	return sigmas * math.Sqrt(p*(1-p)/float64(n))
}
