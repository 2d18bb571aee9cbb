//go:build cluster

package clustertest

import (
	"io/fs"
	"path/filepath"
	"testing"
	"time"
)

// Jobs bring no jars: the disk of the cluster does not grow with their number, and no
// classes are loaded for them.
func TestJobsLeaveNothingOnTheDisk(t *testing.T) {
	jobs := 20
	if testing.Short() {
		jobs = 6
	}
	var after2, last int64
	var begin time.Time
	var before map[string]time.Duration
	for i := range jobs {
		submit(t, shared.probe, append(onFlink(2), "--tasks", "4", "--out", filepath.Join(t.TempDir(), "out"))...).mustEnd(t, 0)
		noWorkers(t)
		if last = diskUsage(t); i == 1 {
			after2, begin, before = last, time.Now(), cpuByName()
		}
	}
	each := time.Duration(jobs - 2)
	var cpu time.Duration
	for name, total := range cpuByName() {
		used := (total - before[name]) / each
		t.Logf("%s: %v of CPU time for each job", name, used)
		cpu += used
	}
	t.Logf("all: %v of CPU time, %v on the clock", cpu, (time.Since(begin) / each).Round(time.Millisecond))
	growth := (last - after2) / int64(jobs-2)
	t.Logf("%d kB after 2 jobs, %d kB after %d: %d bytes a job", after2/1000, last/1000, jobs, growth)
	if growth > 5_000 { // with jobstore.type File the JobManager stores 75 kB about each of the last jobs
		t.Errorf("the disk grows by %d bytes a job", growth)
	}
	if cpu > 4*time.Second { // 9 s with jars, 1.5 s without
		t.Errorf("a job that does nothing takes %v of CPU time", cpu)
	}
}

// diskUsage returns the size of all temporary files of the cluster in bytes. All of its
// processes have them in one directory, and what a lost JobManager leaves to the next one
// in another. Logs are not included.
func diskUsage(t *testing.T) (sum int64) {
	t.Helper()
	for _, dir := range []string{"tmp", "ha"} {
		err := filepath.WalkDir(shared.path(dir), func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				if info, err := d.Info(); err == nil {
					sum += info.Size()
				}
			}
			return nil // a file that has just been removed
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return sum
}
