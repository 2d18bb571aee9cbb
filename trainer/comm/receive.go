package comm

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"pretext/internal/failure"
)

// What rank 0 does until all ranks are connected.

// receive listens for the other ranks and returns when all have connected. Only rank
// 0 calls it.
func (j *joining) receive(ctx context.Context) error {
	ln, err := listen(ctx, j.o.listenHost(), j.o.Port)
	if err != nil {
		return failure.Network(fmt.Sprintf("rank 0: %v (does another run, or another rank 0, use MASTER_PORT %d?)", err, j.o.Port))
	}
	go j.supervise()
	j.door = openDoor(ln, j.o.Secret, j.timing.handshake, j.admit, j.refuse)
	notice, limit := time.NewTimer(j.timing.notice), time.NewTimer(j.o.Wait)
	defer notice.Stop()
	defer limit.Stop()
	for {
		select {
		case <-j.welcomed:
			return nil
		case <-j.failed:
			return j.failure()
		case <-ctx.Done():
			j.Abort(context.Cause(ctx))
			return context.Cause(ctx)
		case <-notice.C:
			j.post(func() {
				j.o.logf("waiting up to %v for %s of %d, at %v (for a run of one process, unset WORLD_SIZE and RANK)", j.o.Wait, ranks(j.missing()), j.o.Ranks, ln.Addr())
			})
		case <-limit.C:
			j.post(j.missed)
		}
	}
}

// missed ends the run if a rank has not connected. It runs on the supervisor.
func (j *joining) missed() {
	missing := j.missing()
	if len(missing) == 0 {
		return
	}
	reason := fmt.Sprintf("did not come to %s within %v", j.o.address(), j.o.Wait)
	if len(missing) > 1 {
		reason += "; missing: " + ranks(missing)
	}
	if j.refused != "" {
		reason += fmt.Sprintf("; %d connections were refused, the last one from %s", j.refusals, j.refused)
	}
	j.fail(j.lost(missing[0], reason))
}

// missing returns the ranks that have not connected to rank 0.
func (g *Group) missing() []int {
	var missing []int
	for r := 1; r < g.o.Ranks; r++ {
		if !slices.ContainsFunc(g.links, func(l *link) bool { return l.rank == r }) {
			missing = append(missing, r)
		}
	}
	return missing
}

// ranks formats a list of ranks: "rank 1" or "ranks 1, 2". It names at most eight ranks.
func ranks(list []int) string {
	text := make([]string, len(list))
	for i, r := range list {
		text[i] = strconv.Itoa(r)
	}
	if len(list) == 1 {
		return "rank " + text[0]
	}
	if len(text) > 8 {
		text = append(text[:8], "…")
	}
	return "ranks " + strings.Join(text, ", ")
}

// arrive adds a rank to rank 0's links and sends the welcome once all ranks have
// connected. A rank that does not fit ends the run, but only when all have connected
// or timing.handshake has passed, so that the others get the error too.
func (g *Group) arrive(conn net.Conn, h hello) {
	l := &link{rank: h.Rank, host: shorten(h.Host, maxHost), port: h.Port, conn: conn}
	reason := g.misfit(h)
	for _, other := range g.links {
		if reason == "" && other.rank == h.Rank {
			reason = fmt.Sprintf("was started twice: at %v and at %v (%s)", other.conn.RemoteAddr(), conn.RemoteAddr(), l.host)
		}
	}
	g.addLink(l)
	if reason != "" && g.misfitting == nil {
		g.misfitting = &RankError{Rank: h.Rank, Host: l.host, Reason: reason, kind: failure.KindUsage}
		time.AfterFunc(g.timing.handshake, func() { g.post(func() { g.fail(g.misfitting) }) })
	}
	if len(g.links) < g.o.Ranks-1 {
		return
	}
	if g.misfitting != nil {
		g.fail(g.misfitting)
		return
	}
	w := &welcome{Run: rand.Text(), Peers: make([]peer, g.o.Ranks)}
	w.Peers[0].Host = g.host
	for _, l := range g.links {
		w.Peers[l.rank] = peer{Host: l.host, IP: ipOf(l.conn.RemoteAddr()), Port: l.port}
	}
	g.welcome = w
	frame := encode(frameWelcome, w)
	for _, l := range g.links {
		g.send(l, frame)
	}
	close(g.welcomed)
}

// misfit returns the reason why the sender of h cannot be a rank of this run, or "" if
// it can.
func (g *Group) misfit(h hello) string {
	if g.welcome != nil {
		return "joined when the run had begun: was it started again?"
	}
	if h.Ranks != g.o.Ranks {
		return fmt.Sprintf("WORLD_SIZE is %d, and %d on rank 0 (%s)", h.Ranks, g.o.Ranks, g.host)
	}
	if h.Rank == 0 {
		return fmt.Sprintf("was started twice: on %s and on %s", g.host, h.Host)
	}
	if h.Rank < 0 || h.Rank >= g.o.Ranks {
		return fmt.Sprintf("RANK is %d: must be from 0 to WORLD_SIZE - 1 = %d", h.Rank, g.o.Ranks-1)
	}
	return difference(hello{Host: g.host, Fingerprints: g.o.Fingerprints}, h)
}

// difference describes the fingerprints of h that differ from those of zero, rank 0's
// hello; "" if none does.
func difference(zero, h hello) string {
	names := slices.Collect(maps.Keys(zero.Fingerprints))
	names = slices.AppendSeq(names, maps.Keys(h.Fingerprints))
	slices.Sort(names)
	var diff []string
	for _, name := range slices.Compact(names) {
		theirs, ok := h.Fingerprints[name]
		ours, ok0 := zero.Fingerprints[name]
		if theirs != ours || ok != ok0 {
			diff = append(diff, fmt.Sprintf("%s is %s, and %s on rank 0 (%s)", name, shown(theirs, ok), shown(ours, ok0), zero.Host))
		}
	}
	return strings.Join(diff, "; ")
}

// shown formats the value of a fingerprint for an error. If the rank does not have the
// fingerprint, ok is false and the result is "(none)".
func shown(value string, ok bool) string {
	switch {
	case !ok:
		return "(none)"
	case value == "":
		return `""`
	}
	return shorten(value, 200)
}
