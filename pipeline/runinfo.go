package pipeline

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"pretext/internal/store"
	"pretext/internal/usage"
	"pretext/sharding"
)

// runInfo is run.json: who made a folder, when and how. Nothing hashes or
// trusts it.
type runInfo struct {
	FormatVersion int       `json:"format_version"`
	Stage         string    `json:"stage"`
	Started       time.Time `json:"started"`
	Seconds       float64   `json:"seconds"`
	CPUSeconds    float64   `json:"cpu_seconds"` // of the process, in this stage
	PeakRSS       int64     `json:"peak_rss"`    // bytes, of the process so far
	Runner        string    `json:"runner"`
	Workers       int       `json:"workers"`
	Host          string    `json:"host"`
	Command       []string  `json:"command"`
	Sources       []string  `json:"sources"` // paths and folders as they were given
	Go            string    `json:"go"`
	Version       string    `json:"version"`
}

// writeRunInfo leaves run.json in a stage's folder.
func writeRunInfo(ctx context.Context, folder store.Folder, r Runner, spec Spec, start time.Time, cpu time.Duration) error {
	info := runInfo{FormatVersion: sharding.FormatVersion, Stage: spec.Stage, Started: start.UTC(),
		Seconds: time.Since(start).Seconds(), CPUSeconds: (usage.CPU() - cpu).Seconds(), PeakRSS: usage.PeakMemory(),
		Runner: r.name(), Workers: r.Workers, Command: os.Args, Sources: spec.locations(), Go: runtime.Version()}
	info.Host, _ = os.Hostname()
	if b, ok := debug.ReadBuildInfo(); ok {
		info.Version = b.Main.Version
	}
	return store.WriteFile(ctx, folder, sharding.RunName, sharding.Marshal(info))
}

// locations returns what a stage reads, as paths.
func (s Spec) locations() (paths []string) {
	switch {
	case s.Extract != nil:
		for _, src := range s.Extract.Sources {
			paths = append(paths, src.Paths...)
		}
	case s.Vocab != nil:
		paths = s.Vocab.Documents
	case s.Examples != nil:
		paths = s.Examples.Documents
	case s.Signatures != nil:
		paths = s.Signatures.Documents
	case s.Pairs != nil:
		paths = s.Pairs.Documents
	case s.Filter != nil:
		paths = s.Filter.Documents
	case s.Download != nil:
		paths = s.Download.Requests
	}
	return paths
}
