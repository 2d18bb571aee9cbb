package stage

import (
	"context"
	"math/rand/v2"
	"time"

	"pretext/internal/store"
	"pretext/sharding"
)

// allDone is the mark that all tasks of a stage are done.
const allDone = claimPrefix + "all-done"

// lookers is how many of a stage's helpers list its directory at a time, on average.
const lookers = 16

// looks reports whether one of so many helpers lists the directory this time.
func looks(peers int) bool { return rand.IntN(max(1, peers)) < lookers } //nolint:gosec // spreads helpers, needs no secrecy

// learn learns the claims of other helpers. If no task is open, it marks that for them.
func (h *helper) learn(ctx context.Context) error {
	plans := h.folder.Folder(sharding.PlanFolder)
	if len(h.open) == 0 {
		if h.marks {
			return store.WriteFile(ctx, plans, allDone, []byte("all tasks are done\n"))
		}
		return nil
	}
	claims, err := names(ctx, plans)
	if claims[allDone] {
		h.open = nil
	}
	for name := range claims {
		task, number, ok := parseClaim(name)
		if old, known := h.claims[task]; ok && (!known || old.number < number) {
			h.claims[task] = claim{number, time.Now()}
		}
	}
	return err
}

// waitToLook waits until it is this helper's turn to list the directory. done reports that
// all tasks are done.
func (fn *taskFn) waitToLook(ctx context.Context, folder store.Folder) (done bool, err error) {
	for !looks(fn.Limits.Peers) {
		claims, err := names(ctx, folder.Folder(sharding.PlanFolder))
		if err != nil || claims[allDone] {
			return err == nil, err
		}
		select {
		case <-fn.pool.ctx.Done():
			return false, fn.pool.failure()
		case <-time.After(helpTimes.tick):
		}
	}
	return false, nil
}
