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
	first, last int64 // both inclusive; -1 if the range could not be satisfied
	total       int64 // size of the complete file, -1 if unknown
}

// parseContentRange parses a Content-Range header in one of the forms "bytes
// 5-9/10", "bytes 5-9/*" and "bytes */10".
func parseContentRange(s string) (contentRange, error) {
	bad := fmt.Errorf("invalid Content-Range %q", clip(s))
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

// String returns the header value, as accepted by parseContentRange.
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

// number parses a number of decimal digits only; ok is false for any other text.
func number(s string) (n int64, ok bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// parseRetryAfter returns the wait requested by a Retry-After header, which is a number
// of seconds or a date (RFC 9110, section 10.2.3). For a date before now, wait is 0. ok
// is false if the header is invalid.
func parseRetryAfter(s string, now time.Time) (wait time.Duration, ok bool) {
	s = strings.TrimSpace(s)
	if s != "" && strings.Trim(s, "0123456789") == "" {
		n, ok := number(s)
		if !ok { // too large for an int64
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

// maxRetryAfter is the maximum wait that parseRetryAfter returns. With this limit,
// adding the wait to a time cannot overflow.
const maxRetryAfter = 365 * 24 * time.Hour

// strongTag returns the strong ETag of a response, or "". Only a strong ETag proves
// that two responses are parts of the same version of a file: a weak ETag (W/"…") may
// stay the same when bytes change, and a file may change twice within one second, the
// resolution of Last-Modified (RFC 9110, sections 8.8.1 and 13.1.5).
func strongTag(h http.Header) string {
	if tags := h.Values("ETag"); len(tags) == 1 && isStrong(tags[0]) {
		return tags[0]
	}
	return ""
}

// isStrong reports whether tag is a strong ETag (RFC 9110, section 8.8.3).
func isStrong(tag string) bool {
	if len(tag) < 2 || len(tag) > maxValidator || tag[0] != '"' || tag[len(tag)-1] != '"' {
		return false
	}
	for _, c := range []byte(tag[1 : len(tag)-1]) {
		if c <= ' ' || c == '"' || c == 0x7f {
			return false
		}
	}
	return true
}

const maxValidator = 1 << 10

// clip shortens text from a server, for use in a message.
func clip(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}
