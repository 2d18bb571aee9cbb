package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"pretext/internal/failure"
)

// A Bucket is the client of one bucket of an object store. Each method makes one
// request, without retries. Errors match:
//
//	fs.ErrNotExist     there is no such object, bucket or upload
//	fs.ErrExist        the condition of a write is not met
//	fs.ErrPermission   missing or wrong credentials
//	ErrTransient       the network or the server failed; a retry may succeed
//	ErrBusy            the server wants fewer requests; also matches ErrTransient
//
// The store must be strongly consistent and must enforce the conditions of writes, also for
// the completion of an upload. [Lock] tests this first. A Bucket is safe for concurrent use.
type Bucket interface {
	// Get reads part of an object. The Object has the size of the whole object.
	Get(ctx context.Context, key string, part Part) (io.ReadCloser, Object, error)
	// Head describes an object.
	Head(ctx context.Context, key string) (Object, error)
	// Put writes a small object.
	Put(ctx context.Context, key string, data []byte, when Condition) (Object, error)
	// Delete removes an object. If it does not exist, Delete returns nil.
	Delete(ctx context.Context, key string) error
	// List returns the objects whose keys begin with prefix and have no slash after
	// it, sorted by key. Keys with a slash are grouped in Page.Folders.
	List(ctx context.Context, prefix string, from Cursor) (Page, error)
	// Begin starts an upload in parts.
	Begin(ctx context.Context, key string) (Upload, error)
	// Upload uploads a part; the first has number 1. It returns the part's tag.
	Upload(ctx context.Context, u Upload, number int, data []byte) (tag string, err error)
	// Complete finishes an upload, which makes its object visible.
	Complete(ctx context.Context, u Upload, tags []string, when Condition) (Object, error)
	// Cancel removes an incomplete upload and its parts.
	Cancel(ctx context.Context, u Upload) error
	// Uploads returns the incomplete uploads of a key.
	Uploads(ctx context.Context, key string) ([]Upload, error)
}

// An Object describes an object of a [Bucket].
type Object struct {
	Key      string
	Size     int64
	Version  string    // changes with the content: the ETag
	Modified time.Time // by the server's clock
	Now      time.Time // time of the response by the server's clock; only from [Bucket.Get]
}

// A Part is a range of an object's bytes.
type Part struct {
	Offset  int64
	Length  int64  // at least 1; may exceed the object's end
	Version string // if not "", the object must have this version
}

// A Condition must be true for a write to succeed. The zero value is always true.
type Condition struct {
	Absent  bool   // no object has the key
	Version string // the object has this version
}

// A Cursor is a place in a listing. The zero value is its beginning.
type Cursor struct {
	Next string // Next of the previous page
	Key  string // without Next: the listing begins after this key
}

// A Page is a part of a listing.
type Page struct {
	Objects []Object
	Folders []string // prefixes of longer keys, up to their next slash, inclusive
	Next    string   // "" at the end of the listing
}

// An Upload is an incomplete upload.
type Upload struct{ Key, ID string }

// ErrTransient marks errors of a [Bucket] after which a retry may succeed.
var ErrTransient = errors.New("temporary failure")

// ErrBusy marks errors of a [Bucket] by which a server asks for fewer requests. It answers
// others, so a retry succeeds in the end.
var ErrBusy = fmt.Errorf("too many requests: %w", ErrTransient)

// openers has the function that opens a bucket, for each URL scheme.
var openers sync.Map

// Register makes [Open] accept locations with the given URL scheme. open returns the client
// of a bucket; it is called once for each bucket. Only main programs call Register, so that
// the library does not link a client of an object store.
func Register(scheme string, open func(bucket string) (Bucket, error)) { openers.Store(scheme, open) }

// buckets are the open buckets, by URL.
var buckets sync.Map

// bucketOf returns the bucket of a location that is not local.
func bucketOf(scheme, name string) (*bucket, error) {
	url := scheme + "://" + name
	if b, ok := buckets.Load(url); ok {
		return b.(*bucket), nil
	}
	open, ok := openers.Load(scheme)
	switch {
	case scheme == "gs":
		return nil, failure.Usagef("%s: gs:// is not supported: give Google Cloud Storage as s3://%s, with AWS_ENDPOINT_URL_S3=https://storage.googleapis.com and HMAC keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", url, name)
	case !ok:
		return nil, failure.Usagef("open folder %q: no support for %s:// locations, give a local path", url, scheme)
	case name == "":
		return nil, failure.Usagef("%s: the name of a bucket is missing", url)
	}
	client, err := open.(func(string) (Bucket, error))(name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", url, err)
	}
	b, _ := buckets.LoadOrStore(url, &bucket{Bucket: client, url: url})
	return b.(*bucket), nil
}

// A bucket is a Bucket that retries and counts requests.
type bucket struct {
	Bucket
	url     string
	reached atomic.Bool // a request has succeeded
	gone    atomic.Bool // no request has succeeded, and one failed after all retries
	probed  sync.Mutex
	sound   bool // probe has succeeded
}

// patience has the pauses between retries of a request, and the total time for retries: long
// enough for a server to restart. For a server that has never answered the total is shorter,
// because its address is probably wrong. For one that asks for fewer requests it is longer,
// because the workers of a large cluster may all wait for their turn.
var patience = struct{ first, longest, total, unreached, busy time.Duration }{100 * time.Millisecond, 5 * time.Second, 2 * time.Minute, 5 * time.Second, 30 * time.Minute}

// The user is told about a request that has failed for tellAfter, and then once in tellAgain.
const tellAfter, tellAgain = 15 * time.Second, time.Minute

// waits has the function that prints a line for the user while requests keep failing.
var waits struct {
	sync.Mutex
	tell func(text string)
	next time.Time // tell is not called before
}

// TellWaits sets the function that prints a line for the user while requests keep failing.
// It is called once a minute at most, however many requests fail.
func TellWaits(tell func(text string)) {
	waits.Lock()
	defer waits.Unlock()
	waits.tell, waits.next = tell, time.Time{}
}

// tellWait tells the user, if it is time to, that a request to b has failed with err since the
// given time, and for how long in all it will be repeated.
func tellWait(b *bucket, since time.Time, total time.Duration, err error) {
	now := time.Now()
	if now.Sub(since) < tellAfter {
		return
	}
	waits.Lock()
	defer waits.Unlock()
	if waits.tell == nil || now.Before(waits.next) {
		return
	}
	waits.next = now.Add(tellAgain)
	waits.tell(fmt.Sprintf("%s: a request has failed for %s and is repeated for %s at most: %v", b.url, now.Sub(since).Round(time.Second), total, err))
}

// A requestError is the error of a request that failed after all retries.
type requestError struct {
	url string
	err error
}

func (e *requestError) Error() string { return fmt.Sprintf("%s: %v", e.url, e.err) }

func (e *requestError) Unwrap() error { return e.err }

// Network marks the error for exit codes.
func (e *requestError) Network() bool { return true }

// try makes the request do, and repeats it until it succeeds, fails permanently, or the time
// for retries is over. kind and key describe the request.
func try[T any](ctx context.Context, b *bucket, kind, key string, do func() (T, error)) (T, error) {
	for w := newWait(b); ; {
		count(kind, 0)
		v, err := do()
		if err == nil {
			b.reached.Store(true)
			return v, nil
		}
		if ctx.Err() != nil {
			return v, ctx.Err()
		}
		if !errors.Is(err, ErrTransient) {
			return v, &fs.PathError{Op: kind, Path: b.url + "/" + key, Err: err}
		}
		if !w.next(ctx, err) {
			if ctx.Err() != nil {
				return v, ctx.Err()
			}
			return v, &requestError{b.url + "/" + key, err}
		}
	}
}

// A wait makes the pauses between the attempts of one request.
type wait struct {
	b     *bucket
	since time.Time
	pause time.Duration
}

func newWait(b *bucket) *wait { return &wait{b, time.Now(), patience.first} }

// next pauses before the next attempt after err. It returns false if no further attempt is
// allowed.
func (w *wait) next(ctx context.Context, err error) bool {
	total := patience.total
	switch {
	case errors.Is(err, ErrBusy):
		total = patience.busy
	case !w.b.reached.Load():
		total = patience.unreached
	}
	if time.Since(w.since) > total || w.b.gone.Load() && !w.b.reached.Load() {
		w.b.gone.Store(true)
		return false
	}
	count("retry", 0)
	tellWait(w.b, w.since, total, err)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(w.pause/2 + rand.N(w.pause)): //nolint:gosec // spreads clients, needs no secrecy
	}
	w.pause = min(2*w.pause, patience.longest)
	return true
}

// traffic counts the requests of this process to object stores.
var traffic struct {
	sync.Mutex
	counts map[string]int64
}

// count adds bytes to the count of the given kind. If bytes is 0, it adds one request.
func count(kind string, bytes int64) {
	traffic.Lock()
	defer traffic.Unlock()
	if traffic.counts == nil {
		traffic.counts = map[string]int64{}
	}
	if bytes == 0 {
		traffic.counts[kind]++
	} else {
		traffic.counts[kind] += bytes
	}
}

// Traffic returns the number of requests that this process made to object stores, by kind,
// including retries. Under read_bytes and written_bytes it has the bytes read and written.
// It is empty if no object store was used.
func Traffic() map[string]int64 {
	traffic.Lock()
	defer traffic.Unlock()
	return maps.Clone(traffic.counts)
}
