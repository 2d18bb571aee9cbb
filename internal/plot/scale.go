package plot

import (
	"fmt"
	"math"
	"strconv"
)

// Ticks returns the ticks of an axis from lo to hi, ascending. They are multiples of a
// step: 1, 2 or 5 times a power of ten. The step is the smallest one that gives at most
// most ticks; most is at least 2. Ticks returns none if the range is empty, not finite or
// too narrow for float64.
func Ticks(lo, hi float64, most int) (ticks []float64) {
	if !(hi-lo > 1e-9*max(math.Abs(lo), math.Abs(hi), 1e-200)) || math.IsInf(hi-lo, 0) || most < 2 {
		return nil
	}
	step := tickStep(lo, hi, most)
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9; i++ {
		ticks = append(ticks, i*step+0) // + 0: no negative zero
	}
	return ticks
}

// tickStep returns the distance between two ticks.
func tickStep(lo, hi float64, most int) float64 {
	power := math.Floor(math.Log10((hi - lo) / float64(most)))
	for ; ; power++ {
		for _, m := range []float64{1, 2, 5} {
			step := m * math.Pow(10, power)
			if math.Floor(hi/step+1e-9)-math.Ceil(lo/step-1e-9)+1 <= float64(most) {
				return step
			}
		}
	}
}

// A scale maps values to positions from 0 to 1.
type scale struct {
	lo, hi float64
	log    bool
	most   int                  // maximum number of ticks
	unit   func(float64) string // formats a tick; nil: as a number with the decimals of the step
}

func (s scale) at(v float64) float64 {
	if s.log {
		return math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	}
	return (v - s.lo) / (s.hi - s.lo)
}

func (s scale) ticks() []float64 {
	if !s.log {
		return Ticks(s.lo, s.hi, s.most)
	}
	for _, multiples := range [][]float64{{1, 2, 5}, {1, 5}} {
		if ticks := s.powers(1, multiples); len(ticks) <= s.most {
			return ticks
		}
	}
	for every := 1.0; ; every++ {
		if ticks := s.powers(every, []float64{1}); len(ticks) <= s.most {
			return ticks
		}
	}
}

// powers returns the ticks of a logarithmic scale: the given multiples of 10^0,
// 10^every, 10^(2·every) and so on, within the scale.
func (s scale) powers(every float64, multiples []float64) (ticks []float64) {
	for power := math.Floor(math.Log10(s.lo)); math.Pow(10, power) <= s.hi; power++ {
		for _, m := range multiples {
			if v := m * math.Pow(10, power); v >= s.lo && v <= s.hi && math.Mod(power, every) == 0 {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}

func (s scale) label(v float64) string {
	if s.unit != nil {
		return s.unit(v)
	}
	step := tickStep(s.lo, s.hi, s.most)
	if step < 1e-4 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', max(0, -int(math.Floor(math.Log10(step)+1e-9))), 64)
}

// brief formats a count in thousands, millions or billions.
func brief(n float64) string {
	v, prefix := prefixed(n)
	return v + prefix
}

// Bytes formats a size in bytes for the ticks of an axis.
func Bytes(n float64) string {
	v, prefix := prefixed(n)
	return v + " " + prefix + "B"
}

// prefixed returns n divided by a power of 1000, and the SI prefix for that
// power.
func prefixed(n float64) (v, prefix string) {
	for _, unit := range []struct {
		from float64
		name string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= unit.from {
			return fmt.Sprintf("%.4g", n/unit.from), unit.name
		}
	}
	return fmt.Sprintf("%.4g", n), ""
}
