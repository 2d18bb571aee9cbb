package download

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A contentRange is a Content-Range header (RFC 9110, section 14.4).
type contentRange struct {
	first, last int64 // both inclusive; -1 where the range could not be satisfied
	total       int64 // of the whole, -1 where it is not known
}

// parseContentRange reads "bytes 5-9/10", "bytes 5-9/*" and "bytes */10".
func parseContentRange(s string) (contentRange, error) {
	bad := fmt.Errorf("Content-Range %q cannot be understood", clip(s))
	spec, ok := strings.CutPrefix(strings.TrimSpace(s), "bytes ")
	if !ok {
		return contentRange{}, bad
	}
	span, size, ok := strings.Cut(spec, "/")
	if !ok {
		return contentRange{}, bad
	}
	r := contentRange{-1, -1, -1}
	if size != "*" {
		if r.total, ok = number(size); !ok {
			return contentRange{}, bad
		}
	}
	if span == "*" {
		if r.total < 0 {
			return contentRange{}, bad
		}
		return r, nil
	}
	first, last, ok := strings.Cut(span, "-")
	if !ok {
		return contentRange{}, bad
	}
	var ok1, ok2 bool
	r.first, ok1 = number(first)
	r.last, ok2 = number(last)
	if !ok1 || !ok2 || r.last < r.first || r.total >= 0 && r.last >= r.total {
		return contentRange{}, bad
	}
	return r, nil
}

// String is the form that parseContentRange reads.
func (r contentRange) String() string {
	span, total := "*", "*"
	if r.first >= 0 {
		span = fmt.Sprintf("%d-%d", r.first, r.last)
	}
	if r.total >= 0 {
		total = strconv.FormatInt(r.total, 10)
	}
	return "bytes " + span + "/" + total
}

// number reads decimal digits and nothing else.
func number(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// parseRetryAfter reads both forms of Retry-After, seconds and a date (RFC 9110,
// section 10.2.3); a time that has passed is no wait.
func parseRetryAfter(s string, now time.Time) (wait time.Duration, ok bool) {
	s = strings.TrimSpace(s)
	if s != "" && strings.Trim(s, "0123456789") == "" {
		n, ok := number(s)
		if !ok { // more seconds than there are numbers
			return maxRetryAfter, true
		}
		return time.Duration(min(n, int64(maxRetryAfter/time.Second))) * time.Second, true
	}
	t, err := http.ParseTime(s)
	if err != nil {
		return 0, false
	}
	return min(max(0, t.Sub(now)), maxRetryAfter), true
}

// maxRetryAfter keeps arithmetic on what servers say from overflowing.
const maxRetryAfter = 365 * 24 * time.Hour

// A validator is what If-Range may carry: a strong ETag, else a Last-Modified
// date. A date is weak by the letter of RFC 9110 unless it is well in the past,
// as that of a dump is.
func validator(h http.Header) string {
	if tag := h.Get("ETag"); len(tag) >= 2 && tag[0] == '"' && tag[len(tag)-1] == '"' && len(tag) <= maxValidator {
		return tag
	}
	if date := h.Get("Last-Modified"); date != "" {
		if _, err := http.ParseTime(date); err == nil {
			return date
		}
	}
	return ""
}

const maxValidator = 1 << 10

// clip shortens what a server wrote for a message.
func clip(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}
