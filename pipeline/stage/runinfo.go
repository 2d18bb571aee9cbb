package stage

import (
	"os"
	"runtime"
	"time"

	"pretext/internal/redact"
	"pretext/internal/store"
	"pretext/internal/usage"
	"pretext/internal/version"
	"pretext/sharding"
)

// runInfo is the content of run.json: when and how a directory was made. It is in no
// hash, and readers do not depend on it. It is published with the directory, so it
// contains no secrets of URLs, and contains host and full paths only on request.
type runInfo struct {
	FormatVersion int       `json:"format_version"`
	Stage         string    `json:"stage"`
	Started       time.Time `json:"started"`
	Seconds       float64   `json:"seconds"`
	CPUSeconds    float64   `json:"cpu_seconds"` // CPU time of the process during this stage
	PeakRSS       int64     `json:"peak_rss"`    // peak memory of the process so far, in bytes
	Runner        string    `json:"runner"`
	Workers       int       `json:"workers"`
	Places        bool      `json:"places,omitempty"` // host and full paths are recorded
	Host          string    `json:"host,omitempty"`
	Command       []string  `json:"command"`
	Sources       []string  `json:"sources"` // files and folders
	Go            string    `json:"go"`
	Version       string    `json:"version"`
	// Requests is the number of requests to object stores by kind, over the whole process
	// so far; see [store.Traffic].
	Requests map[string]int64 `json:"requests,omitempty"`

	Tasks *TaskTimes `json:"tasks,omitempty"` // nil if other processes ran all tasks
}

// info describes a run of a stage. start is when it began, and cpu the CPU time that the
// process had used by then.
func (r Runner) info(spec Spec, start time.Time, cpu time.Duration) runInfo {
	info := runInfo{FormatVersion: sharding.FormatVersion, Stage: spec.Stage, Started: start.UTC(),
		Seconds: time.Since(start).Seconds(), CPUSeconds: (usage.CPU() - cpu).Seconds(), PeakRSS: usage.PeakMemory(), Requests: store.Traffic(),
		Runner: r.name(), Workers: r.Workers, Command: redact.Args(os.Args), Go: runtime.Version(), Version: version.String()}
	for _, path := range spec.Paths {
		info.Sources = append(info.Sources, redact.Path(path))
	}
	if r.RecordPlaces {
		info.Places, info.Command, info.Sources = true, redact.Texts(os.Args), redact.Texts(spec.Paths)
		info.Host, _ = os.Hostname()
	}
	return info
}
