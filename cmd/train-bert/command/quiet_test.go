package command

import (
	"net"
	"strings"
	"testing"
	"time"

	"pretext/trainer/comm"
)

// A process that waits for others says so, even with -q: WORLD_SIZE may be left over of
// another program, and nobody will come.
func TestAWaitForOtherRanksIsNeverSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	o := testOptions(t)
	o.quiet = true
	o.Ranks = comm.Options{Ranks: 2, Host: "127.0.0.1", Port: port, Wait: 2500 * time.Millisecond}
	var stderr strings.Builder
	if _, err := train(t.Context(), o, &stderr); err == nil || !strings.Contains(err.Error(), "rank 1") {
		t.Errorf("got %v, want an error of rank 1", err)
	}
	want := "train-bert: waiting up to 2.5s for rank 1 of 2, at 127.0.0.1:"
	if got := stderr.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, want) || !strings.Contains(got, "unset WORLD_SIZE and RANK") {
		t.Errorf("got %q, want one line that begins with %q and names the cure", got, want)
	}
}
