package survey

import "testing"

func TestSharesKnowTheirLimits(t *testing.T) {
	s := newShare(500, 1000).binomial(0.5, "")
	if !s.Limits.Within || s.Limits.Low > 0.4368 || s.Limits.Low < 0.4367 {
		t.Errorf("got %+v", s.Limits)
	}
	for _, c := range []struct {
		count int64
		want  bool
	}{{436, false}, {437, true}, {563, true}, {564, false}} {
		if got := newShare(c.count, 1000).binomial(0.5, "").Limits.Within; got != c.want {
			t.Errorf("%d of 1000: got %v, want %v", c.count, got, c.want)
		}
	}
	if !newShare(999, 1000).atLeast(0.5, "").Limits.Within || newShare(400, 1000).atLeast(0.5, "").Limits.Within {
		t.Error("a lower limit is not one")
	}
	if s := newShare(0, 0).binomial(0.8, ""); !s.Limits.Within {
		t.Errorf("nothing at all: got %+v", s.Limits)
	}
}
