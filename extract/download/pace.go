package download

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// A clock provides the time and sleeps. Tests replace the system clock.
type clock interface {
	Now() time.Time
	// Sleep waits for d. If ctx is cancelled, it returns early with the cause.
	Sleep(ctx context.Context, d time.Duration) error
}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A pace limits a client's requests. For each host, it limits the number of
// simultaneous requests (slots) and enforces a pause between requests. For all hosts
// together, it limits the bytes per second.
type pace struct {
	clock  clock
	places *places
	began  func(host string, at time.Time) // called for every request, with mu held; set only in tests

	mu    sync.Mutex
	hosts map[string]*hostPace
	bytes time.Time // when the next byte may be read
}

type hostPace struct {
	slots chan struct{}
	pause time.Duration
	next  time.Time // when the next request may begin; guarded by pace.mu
}

func (p *pace) host(name string) *hostPace {
	name = strings.ToLower(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[name]
	if h == nil {
		m := p.places.mannerOf(name)
		h = &hostPace{slots: make(chan struct{}, m.connections), pause: m.pause}
		p.hosts[name] = h
	}
	return h
}

// acquire waits until a request to the host name may begin, and takes one of the host's
// slots. Calling release returns the slot; further calls do nothing.
func (p *pace) acquire(ctx context.Context, name string) (release func(), err error) {
	h := p.host(name)
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	release = sync.OnceFunc(func() { <-h.slots })
	for {
		p.mu.Lock()
		now := p.clock.Now()
		wait := h.next.Sub(now)
		if wait <= 0 {
			h.next = now.Add(h.pause)
			if p.began != nil {
				p.began(name, now)
			}
			p.mu.Unlock()
			return release, nil
		}
		p.mu.Unlock()
		if err := p.clock.Sleep(ctx, wait); err != nil {
			release()
			return nil, err
		}
	}
}

// hold delays further requests to the host name by d.
func (p *pace) hold(name string, d time.Duration) {
	h := p.host(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if until := p.clock.Now().Add(d); until.After(h.next) {
		h.next = until
	}
}

// spend records n received bytes and waits until the bandwidth limit allows more.
func (p *pace) spend(ctx context.Context, n int) error {
	rate := p.places.options.Bandwidth
	if rate <= 0 {
		return nil
	}
	p.mu.Lock()
	now := p.clock.Now()
	if p.bytes.Before(now) {
		p.bytes = now
	}
	p.bytes = p.bytes.Add(time.Duration(float64(n) / float64(rate) * float64(time.Second)))
	wait := p.bytes.Sub(now)
	p.mu.Unlock()
	return p.clock.Sleep(ctx, wait)
}

// A waitError reports that a server asks for a longer wait than Options.MaxWait allows.
type waitError struct {
	status int
	wait   time.Duration
}

func (e *waitError) Error() string {
	return fmt.Sprintf("the server (status %d) allows the next request in %v: run the same command then", e.status, e.wait.Round(time.Second))
}
