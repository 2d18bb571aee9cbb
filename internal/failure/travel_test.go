package failure_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pretext/internal/failure"
)

// travel sends an error through text, as a cluster does.
func travel(t *testing.T, err error) failure.Report {
	t.Helper()
	text := "java.lang.RuntimeException: instruction 5: DoFn failed:\n" + failure.NewReport(err, "").Mark() + "\n\tat java.base/x(y.java:1)\n"
	reports := failure.Find(text + "Caused by: " + text)
	if len(reports) != 1 {
		t.Fatalf("found %d reports, want 1", len(reports))
	}
	return reports[0]
}

var (
	errNet     = failure.Network("network")
	errRefused = failure.Refused("refused")
	errMissing = failure.Usage(errors.New("not found"))
)

type overLimit struct{}

func (overLimit) Error() string   { return "too many" }
func (overLimit) OverLimit() bool { return true }

// Whatever a program asks of an error, it asks the same of the error that a worker
// reported.
func TestAnErrorArrivesWithItsKindAndItsCauses(t *testing.T) {
	_, missing := os.Open(filepath.Join(t.TempDir(), "none"))
	full := &fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}
	for _, c := range []struct {
		err       error
		is        error // matched by errors.Is, if not nil
		permanent bool
	}{
		{fmt.Errorf("read x: %w: bad checksum", errCorrupt), errCorrupt, true},
		{fmt.Errorf("get x: %w", errNet), errNet, false},
		{fmt.Errorf("get x: %w: another host", errRefused), errRefused, true},
		{fmt.Errorf("get x: %w", errMissing), errMissing, true},
		{errors.Join(errors.New("a"), failure.DoesNotFit("too large")), nil, true},
		{failure.Locked("in use"), nil, true},
		{overLimit{}, nil, true},
		{fmt.Errorf("extract: %w", missing), fs.ErrNotExist, true},
		{fmt.Errorf("x: %w", full), syscall.ENOSPC, true},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, fs.ErrPermission, true},
		{failure.Lasting("another run has replaced the plan"), nil, true},
		{&fs.PathError{Op: "read", Path: "/x", Err: syscall.EIO}, syscall.EIO, false},
		{errors.New("something"), nil, false},
		{fmt.Errorf("stopped: %w", context.DeadlineExceeded), nil, false},
	} {
		r := travel(t, c.err)
		got := r.Err()
		if got.Error() != c.err.Error() {
			t.Errorf("%v: arrived as %q", c.err, got)
		}
		if c.is != nil && !errors.Is(got, c.is) {
			t.Errorf("%v: does not match %v any more", c.err, c.is)
		}
		if r.Permanent != c.permanent {
			t.Errorf("%v: permanent %v, want %v", c.err, r.Permanent, c.permanent)
		}
		if before, after := properties(c.err), properties(got); before != after {
			t.Errorf("%v: is %s after its travel, was %s", c.err, after, before)
		}
	}
}

// properties lists what programs ask of an error: its exit code and some causes.
func properties(err error) string {
	return fmt.Sprint(failure.ExitCode(err), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOSPC), errors.Is(err, errNet))
}

// A task that was stopped because another failed did not see the user's Ctrl-C.
func TestACanceledTaskDoesNotArriveAsAnInterruptedRun(t *testing.T) {
	if err := travel(t, fmt.Errorf("task: %w", context.Canceled)).Err(); errors.Is(err, context.Canceled) {
		t.Errorf("%v matches context.Canceled", err)
	}
}

func TestAReportNamesItsProcess(t *testing.T) {
	r := failure.NewReport(errors.New("bad"), "worker on tm1, log /tmp/x.log")
	if got, want := failure.Find(r.Mark())[0].Err().Error(), "bad (worker on tm1, log /tmp/x.log)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	again := failure.NewReport(failure.Find(r.Mark())[0].Err(), "worker on tm2")
	if again.Where != r.Where || again.Text != r.Text {
		t.Errorf("reported again as %+v", again)
	}
}

func TestALongErrorIsCutAtAWholeCharacter(t *testing.T) {
	r := travel(t, errors.New(strings.Repeat("ä", 1<<20)))
	if n := len(r.Text); n > 8<<10 || strings.ContainsRune(r.Text, '\uFFFD') || !strings.HasSuffix(r.Text, "ä…") {
		t.Errorf("%d bytes, end %q", n, r.Text[n-8:])
	}
}

func FuzzFind(f *testing.F) {
	f.Add("pretext-error:e30:end")
	f.Add("x" + failure.NewReport(errCorrupt, "w").Mark() + "y")
	f.Add("pretext-error::end")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range failure.Find(text) {
			again := failure.Find(r.Mark())
			if len(again) != 1 || again[0].Err().Error() != r.Err().Error() {
				t.Fatalf("%+v is not read back", r)
			}
		}
	})
}
