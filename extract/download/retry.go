package download

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// isCertificate reports whether a server's certificate is why there is no
// connection. It will be the same the next time, and is never looked past.
func isCertificate(err error) bool {
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verify) || errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid)
}

// A NetworkError is what is left of a file or list when all attempts failed. It
// matches [ErrNetwork] and what the last one met.
type NetworkError struct {
	URL      string
	Attempts int
	Err      error
}

func (e *NetworkError) Error() string {
	if e.Attempts > 1 {
		return fmt.Sprintf("%v (%d attempts)", e.Err, e.Attempts)
	}
	return e.Err.Error()
}

// Unwrap returns both.
func (e *NetworkError) Unwrap() []error { return []error{ErrNetwork, e.Err} }

// attempts counts failures and waits between them.
type attempts struct {
	client *Client
	url    string
	total  int
	row    int // of failures that brought nothing
}

// enough is what a transfer must bring to count as a success although it was cut
// short: one that brings a byte each time would go on for ever.
const enough = 1 << 20

// failed takes note of a failure that came after so many bytes. It returns nil
// when there shall be another attempt, after the wait.
func (a *attempts) failed(ctx context.Context, err error, brought int64) error {
	a.total++
	if brought >= enough {
		a.row = 0
	}
	a.row++
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if content := (*contentError)(nil); errors.As(err, &content) && a.row >= contentAttempts {
		return a.give(err)
	}
	if isFatal(ctx, err) || a.row >= a.limit() {
		return a.give(err)
	}
	if held := (*heldError)(nil); errors.As(err, &held) {
		return nil // the host's pace knows how long
	}
	return a.client.clock.Sleep(ctx, a.wait())
}

// contentAttempts is how often a file is asked for while something else comes in
// its place: one of several servers may be at fault, but the portal of a network
// stays until a person logs in.
const contentAttempts = 3

// firstAttempts is how often servers are tried that never answered: where there
// is no network at all, a person wants to know soon.
const firstAttempts = 3

func (a *attempts) limit() int {
	if !a.client.answered.Load() {
		return min(firstAttempts, a.client.options.Attempts)
	}
	return a.client.options.Attempts
}

func (a *attempts) wait() time.Duration {
	o := a.client.options
	wait := o.Backoff
	for i := 1; i < a.row && wait < o.MaxBackoff; i++ {
		wait *= 2
	}
	return min(wait, o.MaxBackoff)
}

// give up.
func (a *attempts) give(err error) error {
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrOffline) || errors.Is(err, ErrCorrupt) {
		return err
	}
	return &NetworkError{URL: a.url, Attempts: a.total, Err: err}
}
