package command

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestABarFitsEveryTerminal(t *testing.T) {
	for _, s := range []barState{
		{done: 1, last: 4, loss: 6.5, speed: 900, left: 3 * time.Second},
		{done: 512, last: 1200, loss: 3.0123, speed: 18432.4, left: 80 * time.Second},
		{done: 1_000_000, last: 1_000_000, loss: 10.5, speed: 1_234_567, left: 0},
		{done: 3, last: 1_000_000_000, loss: math.NaN(), speed: math.Inf(1), left: 1e6 * time.Hour},
		{done: 9, last: 3, loss: -1, left: -time.Second},
	} {
		for columns := range 200 {
			got := s.render(columns)
			if len(got) > max(0, columns-1) {
				t.Errorf("%d columns: %q has %d", columns, got, len(got))
			}
			if strings.ContainsFunc(got, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }) {
				t.Errorf("%q is not plain ASCII", got)
			}
		}
	}
}

func TestABarSaysHowFastAndHowLong(t *testing.T) {
	s := barState{done: 600, last: 1200, loss: 3.0123, speed: 18432.4, left: 80 * time.Second}
	for columns, want := range map[int]string{
		120: "[===============               ] step 600 of 1,200, loss 3.012, 18,432 tokens/s, about 1m20s left",
		80:  "[======      ] step 600 of 1,200, loss 3.012, 18,432 tokens/s, about 1m20s left",
		70:  "step 600 of 1,200, loss 3.012, 18,432 tokens/s, about 1m20s left",
		60:  "step 600 of 1,200, 18,432 tokens/s, about 1m20s left",
		40:  "step 600 of 1,200, about 1m20s left",
		20:  "step 600 of 1,200",
		8:   "step 60",
		0:   "",
	} {
		if got := s.render(columns); got != want {
			t.Errorf("%d columns:\ngot  %q\nwant %q", columns, got, want)
		}
	}
}

// A bar on a terminal gives way to lines and comes back.
func TestTheBarMakesRoomForLines(t *testing.T) {
	var b bytes.Buffer
	c := &console{w: &b, width: func() int { return 20 }}
	c.bar(barState{done: 1, last: 4})
	c.bar(barState{done: 2, last: 4}) // too soon
	fmt.Fprintln(c, "a line")
	c.bar(barState{done: 4, last: 4})
	c.clear()
	if want := "step 1 of 4\r\x1b[Ka line\nstep 4 of 4\r\x1b[K"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	b.Reset()
	newConsole(&b).bar(barState{done: 1, last: 2})
	if b.Len() > 0 {
		t.Errorf("a bar where there is no terminal: %q", b.String())
	}
}
