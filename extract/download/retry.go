package download

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// isCertificate reports whether err means that the server's certificate was rejected.
// Another attempt would fail too.
func isCertificate(err error) bool {
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verify) || errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid)
}

// A NetworkError reports that all attempts to get a file or list failed. It matches
// [ErrNetwork] and the error of the last attempt.
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

// Unwrap returns [ErrNetwork] and Err.
func (e *NetworkError) Unwrap() []error { return []error{ErrNetwork, e.Err} }

// attempts counts the failed attempts to get one file, and waits between attempts.
type attempts struct {
	client *Client
	url    string
	total  int // number of failures
	row    int // number of consecutive failures without progress
}

// enough is the number of bytes that an incomplete transfer must add to count as
// progress. With a lower limit, a transfer that adds one byte per attempt would take
// almost forever.
const enough = 1 << 20

// failed records a failed attempt, which added the number of bytes in brought. If
// another attempt is allowed, it waits and returns nil. Otherwise it returns the final
// error.
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
		return nil // pace.acquire will wait as long as the server asked
	}
	return a.client.clock.Sleep(ctx, a.wait())
}

// contentAttempts is the maximum number of consecutive responses that are not the file.
// More attempts are useless: one of several servers may be faulty, but a network's
// login page remains until the user logs in.
const contentAttempts = 3

// firstAttempts is the maximum number of attempts as long as no server has responded.
// Without a network, the user should see the error soon.
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

// give returns the final error, after the last attempt.
func (a *attempts) give(err error) error {
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrOffline) || errors.Is(err, ErrCorrupt) {
		return err
	}
	return &NetworkError{URL: a.url, Attempts: a.total, Err: err}
}
