package command

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"

	"pretext/trainer/session"
)

func TestABarFitsEveryTerminal(t *testing.T) {
	for _, s := range []session.Progress{
		{Step: 1, Last: 4, Loss: 6.5, Speed: 900, Left: 3 * time.Second},
		{Step: 512, Last: 1200, Loss: 3.0123, Speed: 18432.4, Left: 80 * time.Second},
		{Step: 1_000_000, Last: 1_000_000, Loss: 10.5, Speed: 1_234_567, Left: 0},
		{Step: 3, Last: 1_000_000_000, Loss: math.NaN(), Speed: math.Inf(1), Left: 1e6 * time.Hour},
		{Step: 9, Last: 3, Loss: -1, Left: -time.Second},
	} {
		for columns := range 200 {
			got := renderBar(s, columns)
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
	s := session.Progress{Step: 600, Last: 1200, Loss: 3.0123, Speed: 18432.4, Left: 80 * time.Second}
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
		if got := renderBar(s, columns); got != want {
			t.Errorf("%d columns:\ngot  %q\nwant %q", columns, got, want)
		}
	}
}

// A bar on a terminal gives way to lines and comes back.
func TestTheBarMakesRoomForLines(t *testing.T) {
	var b bytes.Buffer
	c := &console{w: &b, width: func() int { return 20 }}
	c.bar(session.Progress{Step: 1, Last: 4})
	c.bar(session.Progress{Step: 2, Last: 4}) // too soon
	fmt.Fprintln(c, "a line")
	c.bar(session.Progress{Step: 4, Last: 4})
	c.clear()
	if want := "step 1 of 4\r\x1b[Ktrain-bert: a line\nstep 4 of 4\r\x1b[K"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	b.Reset()
	newConsole(&b).bar(session.Progress{Step: 1, Last: 2})
	if b.Len() > 0 {
		t.Errorf("a bar where there is no terminal: %q", b.String())
	}
}
