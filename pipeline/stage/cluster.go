package stage

import (
	"context"
	"strings"
	"time"

	"pretext/internal/store"
	"pretext/pipeline/flink"
	"pretext/sharding"
)

// live reports whether a cluster is already running the job of the stage. This is
// possible if an earlier run was killed or lost its connection.
func (r Runner) live(ctx context.Context, spec Spec) (bool, error) {
	if r.name() != Flink {
		return false, nil
	}
	return r.Cluster.Live(ctx, spec.clusterName())
}

// clusterName returns the name of the stage's job on a cluster.
func (s Spec) clusterName() string { return flink.JobName(s.Stage, s.Fingerprint, s.Out) }

// progressTick is the interval at which a directory is checked for new side-cars.
const progressTick = 2 * time.Second

// watchSideCars updates the meter while a job runs on a cluster. The workers are other
// processes there, so a task counts as done when its side-car exists. Call stop to end
// the updates.
func watchSideCars(ctx context.Context, folder store.Folder, m *Meter) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	m.kept.Store(finishedTasks(ctx, folder))
	go func() {
		defer close(done)
		for {
			m.progress(finishedTasks(ctx, folder))
			select {
			case <-ctx.Done():
				m.progress(finishedTasks(context.WithoutCancel(ctx), folder))
				return
			case <-time.After(progressTick):
			}
		}
	}()
	return func() { cancel(); <-done }
}

// progress sets the meter from the number of finished tasks.
func (m *Meter) progress(tasks int64) {
	m.ended.Store(tasks)
	if m.Tasks > 0 {
		m.done.Store(int64(float64(m.Total) * float64(min(tasks, int64(m.Tasks))) / float64(m.Tasks)))
	}
}

// finishedTasks returns the number of tasks that have side-cars in a directory. A task
// may write several side-cars, which differ only in the first word of their names.
func finishedTasks(ctx context.Context, folder store.Folder) int64 {
	files, err := folder.List(ctx)
	if err != nil {
		return 0 // only a display depends on it
	}
	tasks := map[string]bool{}
	for _, f := range files {
		name := f.Name()
		if _, rest, ok := strings.Cut(name, "-"); ok && strings.HasSuffix(name, sharding.SideCarSuffix) {
			tasks[rest] = true
		}
	}
	return int64(len(tasks))
}
