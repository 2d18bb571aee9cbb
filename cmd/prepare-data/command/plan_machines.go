package command

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"pretext/internal/failure"
	"pretext/internal/humanize"
	"pretext/pipeline"
)

// machineFlags describe the machines for which plan predicts the duration of a run.
type machineFlags struct {
	counts  []int
	cores   int
	network byteSize
	disk    byteSize
	latency time.Duration
	seed    uint64
}

func (m *machineFlags) add(fs *pflag.FlagSet) {
	m.network, m.disk = 1_250_000_000, 1_000_000_000
	fs.IntSliceVar(&m.counts, "machines", nil, "predict the duration of the run on these `numbers` of machines, such as 1,10,1000")
	fs.IntVar(&m.cores, "machine-cores", 16, "cores of a machine")
	fs.Var(&m.network, "machine-network", "bytes per second between a machine and the storage")
	fs.Var(&m.disk, "machine-disk", "bytes per second of a machine's disk, applies only to a run on one machine")
	fs.DurationVar(&m.latency, "store-latency", 30*time.Millisecond, "median time of a request to the storage")
	fs.Uint64Var(&m.seed, "simulation-seed", 1, "random seed of the simulation")
}

// machines checks the flags and returns them as [pipeline.Machines].
func (m *machineFlags) machines() (pipeline.Machines, error) {
	for _, n := range m.counts {
		if n < 1 || n > maxMachines {
			return pipeline.Machines{}, failure.Usagef("--machines %d: want 1 to %d", n, maxMachines)
		}
	}
	if m.cores < 1 || m.cores > maxMachineCores {
		return pipeline.Machines{}, failure.Usagef("--machine-cores %d: want 1 to %d", m.cores, maxMachineCores)
	}
	if m.network < 1 || m.disk < 1 || m.latency < 0 {
		return pipeline.Machines{}, failure.Usagef("--machine-network and --machine-disk must be above 0, --store-latency at least 0")
	}
	return pipeline.Machines{Counts: m.counts, Cores: m.cores, Network: int64(m.network), Disk: int64(m.disk), Latency: m.latency.Seconds(), Seed: m.seed}, nil
}

const (
	maxMachines     = 10_000
	maxMachineCores = 1024
)

// printScale prints the predicted figures of a run, one line for each number of
// machines.
func printScale(w io.Writer, p *pipeline.Plan, m machineFlags) error {
	rows := p.Scale
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\nSimulated on machines of %d cores, see docs/scale.md:\n\n", m.cores)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "machines\ttime\tworst\tserial\tcores busy\tmachines lost\tmemory each\tscratch each\tnetwork each\trequests\t")
	for _, r := range rows {
		network, requests := "-", "-"
		if r.Machines > 1 {
			network, requests = humanize.Bytes(r.Network), humanize.Count(r.Requests)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%.0f %%\t%s\t%s\t%s\t%s\t%s\t\n", r.Machines, clock(r.Seconds), clock(r.Worst), clock(r.Serial), 100*r.Busy,
			strconv.FormatFloat(math.Round(100*r.Failures)/100, 'f', -1, 64), humanize.Bytes(r.Memory), humanize.Bytes(r.Disk), network, requests)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "The process that plans needs %s of memory.\n", humanize.Bytes(p.Memory.Driver))
	for _, r := range rows {
		if len(r.Limited) > 0 {
			fmt.Fprintf(w, "%d machines: S3's limits of requests slow down %s\n", r.Machines, strings.Join(r.Limited, ", "))
		}
	}
	return nil
}

// clock returns a time in seconds as "2h05m", "3m10s" or "12s".
func clock(seconds float64) string {
	n := int(math.Round(seconds))
	switch {
	case n >= 3600:
		return fmt.Sprintf("%dh%02dm", n/3600, n%3600/60)
	case n >= 60:
		return fmt.Sprintf("%dm%02ds", n/60, n%60)
	}
	return fmt.Sprintf("%ds", n)
}
