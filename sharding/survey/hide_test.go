package survey

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatOlderProgramsWroteDownIsHidden(t *testing.T) {
	old := Run{Host: "h", Command: []string{"/usr/bin/prepare-data", "--out=/home/me/out", "--url", "https://a.org/x?token"}, Sources: []string{"/home/me/x.bz2", "https://a.org/x?token"}}
	asked := old
	asked.Places = true
	old.hide()
	asked.hide()
	if diff := cmp.Diff(Run{Command: []string{"prepare-data", "--out=out", "--url", "https://a.org/x?redacted"}, Sources: []string{"x.bz2", "https://a.org/x?redacted"}}, old); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Run{Places: true, Host: "h", Command: []string{"/usr/bin/prepare-data", "--out=/home/me/out", "--url", "https://a.org/x?redacted"}, Sources: []string{"/home/me/x.bz2", "https://a.org/x?redacted"}}, asked); diff != "" {
		t.Error(diff)
	}
}
