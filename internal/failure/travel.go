package failure

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime"
	"syscall"
)

// A Report describes an error of another process, a worker of a cluster, to this one.
// Programs between the two pass on only the text of an error, so [Report.Mark] encodes the
// report in a text, and [Find] extracts it.
type Report struct {
	Text      string   `json:"text"`
	Where     string   `json:"where,omitempty"` // the process: its host and log file
	Permanent bool     `json:"permanent"`       // the same task would fail again
	Kinds     []string `json:"kinds,omitempty"` // names of kinds, see kinds.go
	Errno     uint64   `json:"errno,omitempty"` // error number of the operating system OS
	OS        string   `json:"os,omitempty"`
	Causes    []cause  `json:"causes,omitempty"`
}

// A cause is one error in a tree of wrapped errors. Its type and text identify a sentinel
// error, because both processes run the same program.
type cause struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Limits of a report, because runners truncate long texts.
const (
	maxText   = 8 << 10 // bytes of an error's text, with room for the stack of a panic
	maxCause  = 256     // bytes of a sentinel's text
	maxCauses = 32
)

// NewReport returns a report of err for another process. where describes this process to
// the user. If err itself comes from a report, NewReport returns that report.
func NewReport(err error, where string) Report {
	if e := (*reported)(nil); errors.As(err, &e) {
		return e.r
	}
	r := Report{Text: clip(err.Error(), maxText), Where: where, Permanent: permanent(err)}
	for _, k := range kinds {
		if !k.system && k.is(err) {
			r.Kinds = append(r.Kinds, k.name)
		}
	}
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		r.Errno, r.OS = uint64(errno), runtime.GOOS
	}
	r.collect(err)
	return r
}

// collect appends all errors in the tree of err to r.Causes.
func (r *Report) collect(err error) {
	if err == nil || len(r.Causes) == maxCauses {
		return
	}
	if text := err.Error(); len(text) <= maxCause {
		r.Causes = append(r.Causes, cause{reflect.TypeOf(err).String(), text})
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		r.collect(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			r.collect(err)
		}
	}
}

// permanent reports whether a task that failed with err would fail again if it were
// retried. That holds for bad data and options, missing files, permissions and full disks.
// For network errors and unknown errors a retry may succeed.
func permanent(err error) bool {
	if isLasting(err) {
		return true
	}
	passes := errors.Is(err, context.Canceled)
	for _, k := range kinds {
		switch {
		case k.system || !k.is(err):
		case k.name != KindNetwork:
			return true
		default:
			passes = true
		}
	}
	return !passes && ExitCode(err) != ExitOther
}

// isLasting reports whether the method Lasting of an error returns true: a retry of the
// same work would fail again.
var isLasting = has(func(e interface{ Lasting() bool }) bool { return e.Lasting() })

// Err returns the reported error. [errors.Is] and the methods of its kind give the
// same answers as in the process that reported it.
func (r Report) Err() error {
	err := error(&reported{r})
	for _, k := range kinds {
		for _, name := range r.Kinds {
			if name == k.name && !k.system {
				err = k.mark(err)
			}
		}
	}
	return err
}

// A reported is the error of a [Report].
type reported struct{ r Report }

func (e *reported) Error() string {
	if e.r.Where == "" {
		return e.r.Text
	}
	return fmt.Sprintf("%s (%s)", e.r.Text, e.r.Where)
}

// Is reports whether the original error wrapped target.
func (e *reported) Is(target error) bool {
	want := cause{reflect.TypeOf(target).String(), target.Error()}
	for _, c := range e.r.Causes {
		if c == want && target != context.Canceled { // a canceled task does not mean that the user canceled the run: another task may have failed
			return true
		}
	}
	return false
}

// Unwrap returns the operating system's error. It is nil if there is none, or if the error
// comes from another operating system.
func (e *reported) Unwrap() error {
	if e.r.Errno == 0 || e.r.OS != runtime.GOOS {
		return nil
	}
	return syscall.Errno(e.r.Errno)
}

// Mark returns the report as text that [Find] recognizes within any other text.
func (r Report) Mark() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic("BUG: report of an error: " + err.Error())
	}
	return markBegin + base64.RawURLEncoding.EncodeToString(b) + markEnd
}

const (
	markBegin = "pretext-error:"
	markEnd   = ":end"
)

var mark = regexp.MustCompile(markBegin + `([A-Za-z0-9_-]+)` + markEnd)

// Find returns the reports that a text contains, each once, in order.
func Find(text string) (reports []Report) {
	seen := map[string]bool{}
	for _, m := range mark.FindAllStringSubmatch(text, -1) {
		if seen[m[1]] {
			continue
		}
		seen[m[1]] = true
		b, err := base64.RawURLEncoding.DecodeString(m[1])
		if err != nil {
			continue
		}
		var r Report
		if json.Unmarshal(b, &r) == nil && r.Text != "" {
			reports = append(reports, r)
		}
	}
	return reports
}

// clip truncates a text to at most n bytes of whole characters.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	const dots = "…"
	n -= len(dots)
	for n > 0 && text[n]&0xc0 == 0x80 {
		n--
	}
	return text[:n] + dots
}
