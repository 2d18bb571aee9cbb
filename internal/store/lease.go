package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"time"
)

// A lock in an object store is a lease: an object that the holder creates, if it does not
// exist, and then renews. A killed holder cannot remove the object. So another process takes
// the lease over if it was not renewed for its duration, by the server's clock. Each process
// replaces the object only if it still has the version that the process read, so only one of
// two competing processes succeeds. A process that was suspended renews its lease before it
// changes anything, and ends if another process has taken the lease over.
var leaseTime = struct{ duration, renew time.Duration }{60 * time.Second, 15 * time.Second}

// A lease is the lock of a folder in an object store. The zero value holds no lock.
type lease struct {
	folder *objects

	mu      sync.Mutex
	content leaseContent
	version string    // "": not held
	renewed time.Time // by the local clocks
	lost    error     // why the lease was lost; nil while it is held
}

// leases are the leases that this process holds, for [LeaseAge]: *lease → true.
var leases sync.Map

// LeaseAge returns the time since the oldest lock of this process in an object store was
// renewed. held is false if the process holds none.
func LeaseAge() (age time.Duration, held bool) {
	leases.Range(func(k, _ any) bool {
		l := k.(*lease)
		l.mu.Lock()
		defer l.mu.Unlock()
		age, held = max(age, elapsed(l.renewed)), true
		return true
	})
	return age, held
}

// leaseContent is the content of a lock object.
type leaseContent struct {
	owner
	Holder  string `json:"holder"`            // random, different for each run
	Machine string `json:"machine,omitempty"` // hash of the boot and the PID namespace to which PID belongs
	Renewed int    `json:"renewed"`
	Seconds int    `json:"lease_seconds"`
}

func (c leaseContent) by() string {
	return fmt.Sprintf(" (process %d on %s since %s)", c.PID, c.Host, c.Since.Format(time.RFC3339))
}

// lock acquires the lease of the folder.
func (o *objects) lock() (held, error) {
	ctx := context.Background()
	if err := o.b.probe(ctx, o); err != nil {
		return held{}, err
	}
	host, _ := os.Hostname()
	l := &lease{folder: o, content: leaseContent{owner: owner{os.Getpid(), host, time.Now().UTC().Truncate(time.Second)},
		Holder: rand.Text(), Machine: machine(), Seconds: int(leaseTime.duration / time.Second)}}
	err := l.put(ctx, Condition{Absent: true})
	if errors.Is(err, fs.ErrExist) {
		err = l.takeOver(ctx)
	}
	if err != nil {
		return held{}, fmt.Errorf("lock %s: %w", o, err)
	}
	o.lease = l
	leases.Store(l, true)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		l.keep(stop)
	}()
	return held{
		intact: func() error { return l.check(context.WithoutCancel(ctx)) },
		unlock: func() {
			close(stop)
			<-done
			l.release()
			leases.Delete(l)
		},
	}, nil
}

// put writes the lock object and stores its version in l. Each call writes different
// content, so that the version changes too.
func (l *lease) put(ctx context.Context, when Condition) error {
	l.content.Renewed++
	b, err := json.Marshal(l.content)
	if err != nil {
		return err
	}
	start, key := time.Now(), l.folder.key(LockName)
	object, err := try(ctx, l.folder.b, "lock", key, func() (Object, error) { return l.folder.b.Put(ctx, key, append(b, '\n'), when) })
	if errors.Is(err, fs.ErrExist) { // a first attempt may have succeeded, with its response lost
		now, there, readErr := l.read(ctx)
		if readErr == nil && there.Version != "" && now == l.content {
			object, err = there, nil
		}
	}
	if err == nil {
		l.version, l.renewed = object.Version, start
	}
	return err
}

// read reads the lock object. If there is none, object.Version is "".
func (l *lease) read(ctx context.Context) (c leaseContent, object Object, err error) {
	key := l.folder.key(LockName)
	raw, err := try(ctx, l.folder.b, "lock", key, func() (raw []byte, err error) {
		var body io.ReadCloser
		if body, object, err = l.folder.b.Get(ctx, key, Part{Length: 4 << 10}); err != nil {
			return nil, err
		}
		defer body.Close()
		raw, err = io.ReadAll(body)
		return raw, transient(err)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return c, Object{}, nil
	}
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(raw)).Decode(&c)
		if err != nil {
			c, err = leaseContent{}, nil // not written by this package: treated as a lease without duration
		}
	}
	return c, object, err
}

// takeOver takes the lease over if its holder no longer renews it.
func (l *lease) takeOver(ctx context.Context) error {
	c, object, err := l.read(ctx)
	if err != nil {
		return err
	}
	if object.Version == "" { // released since
		return l.put(ctx, Condition{Absent: true})
	}
	left := time.Duration(c.Seconds)*time.Second - object.Now.Sub(object.Modified)
	if left > 0 && !c.dead() {
		return fmt.Errorf("%w: %s%s; if that process was killed, run the same command again in %d seconds",
			ErrLocked, l.folder, c.by(), int(left/time.Second)+1)
	}
	err = l.put(ctx, Condition{Version: object.Version})
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s: another process took over its lock", ErrLocked, l.folder)
	}
	return err
}

// dead reports whether the holder was a process of this machine that has ended.
func (c leaseContent) dead() bool {
	return c.Machine != "" && c.Machine == machine() && c.PID != os.Getpid() && !running(c.PID)
}

// machine identifies the boot of this machine and the PID namespace (container). PIDs can
// be compared only between processes with the same value. It is "" if unknown.
var machine = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || runtime.GOOS != "linux" {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(append(boot, space...))
	return hex.EncodeToString(sum[:8])
})

// elapsed returns the time since t, including the time in which the machine slept: the
// monotonic clock may stop during sleep.
func elapsed(t time.Time) time.Duration {
	return max(time.Since(t), time.Now().Round(0).Sub(t.Round(0)))
}

// keep renews the lease regularly until stop is closed.
func (l *lease) keep(stop <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-stop
		cancel()
	}()
	for {
		select {
		case <-stop:
			return
		case <-time.After(leaseTime.renew):
			l.mu.Lock()
			l.renew(ctx)
			l.mu.Unlock()
		}
	}
}

// renew renews the lease. The caller holds the mutex.
func (l *lease) renew(ctx context.Context) {
	if l.lost != nil {
		return
	}
	err := l.put(ctx, Condition{Version: l.version})
	if !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		return // renewed, or the network is down, which check handles
	}
	now, object, err := l.read(ctx)
	switch {
	case err != nil:
	case object.Version == "" && elapsed(l.renewed) > leaseTime.duration: // another run may have come and gone
		l.lost = fmt.Errorf("%w, or was: %s: this run was stopped or cut off for longer than its lock lasts, and another process took over the directory", ErrLocked, l.folder)
	case object.Version == "":
		l.lost = &RemovedError{Folder: l.folder.String(), Err: errors.New("its lock was removed")}
	default:
		l.lost = fmt.Errorf("%w: %s%s: this run was stopped or cut off for longer than its lock lasts, and that process took over the directory", ErrLocked, l.folder, now.by())
	}
}

// check returns an error if the lease is lost. The holder calls it before every change of
// the locked folder.
func (l *lease) check(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.version == "" {
		return l.lost
	}
	if l.lost == nil && elapsed(l.renewed) > leaseTime.duration/2 {
		l.renew(ctx)
		if l.lost == nil && elapsed(l.renewed) > leaseTime.duration {
			return &requestError{l.folder.String(), errors.New("its lock could not be renewed")}
		}
	}
	return l.lost
}

// release removes the lock object, unless another process has taken the lease over.
func (l *lease) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil {
		return
	}
	ctx, cancel := cleanup(context.Background())
	defer cancel()
	now, object, err := l.read(ctx)
	if err == nil && object.Version == l.version && now.Holder == l.content.Holder {
		_ = l.folder.remove(ctx, LockName) // after an error the lease expires
	}
	l.version, l.folder.lease = "", new(lease)
}

// A conditionError reports an object store that ignores conditions of writes.
type conditionError struct{ bucket, what string }

func (e *conditionError) Error() string {
	return fmt.Sprintf("%s: the object store ignores %s, so two runs could overwrite each other's files: use a store with conditional writes, such as Amazon S3, MinIO or Ceph, or a local --out", e.bucket, e.what)
}

// Usage marks the error for exit codes.
func (e *conditionError) Usage() bool { return true }

const probePrefix = ".probe-"

// probe tests, once for each bucket, that the store enforces the conditions of writes.
// Without these, locks and commits are not safe.
func (b *bucket) probe(ctx context.Context, o *objects) error {
	b.probed.Lock()
	defer b.probed.Unlock()
	if b.sound {
		return nil
	}
	name := probePrefix + rand.Text()
	key := o.key(name)
	put := func(when Condition) (Object, error) {
		return try(ctx, b, "probe", key, func() (Object, error) { return b.Put(ctx, key, []byte("probe\n"), when) })
	}
	if _, err := put(Condition{Absent: true}); err != nil && !errors.Is(err, fs.ErrExist) { // ErrExist: a first attempt succeeded, with its response lost
		return err
	}
	defer o.remove(context.WithoutCancel(ctx), name) //nolint:errcheck // Sweep removes it
	for _, c := range []struct {
		what string
		do   func() error
	}{
		{"If-None-Match of a write", func() error { _, err := put(Condition{Absent: true}); return err }},
		{"If-Match of a write", func() error { _, err := put(Condition{Version: "00000000000000000000000000000000"}); return err }},
		{"If-None-Match of a completed upload", func() error { return b.probeUpload(ctx, key) }},
	} {
		err := c.do()
		if err == nil {
			return &conditionError{b.url, c.what}
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	b.sound = true
	return nil
}

func (b *bucket) probeUpload(ctx context.Context, key string) error {
	u, err := try(ctx, b, "probe", key, func() (Upload, error) { return b.Begin(ctx, key) })
	if err != nil {
		return err
	}
	defer func() {
		try(ctx, b, "probe", key, func() (struct{}, error) { return struct{}{}, b.Cancel(ctx, u) }) //nolint:errcheck // an upload that was completed is gone
	}()
	tag, err := try(ctx, b, "probe", key, func() (string, error) { return b.Upload(ctx, u, 1, []byte("probe\n")) })
	if err != nil {
		return err
	}
	_, err = try(ctx, b, "probe", key, func() (Object, error) { return b.Complete(ctx, u, []string{tag}, Condition{Absent: true}) })
	return err
}
