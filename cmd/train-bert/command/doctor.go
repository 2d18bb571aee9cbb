package command

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/internal/humanize"
	gpu "pretext/trainer/cuda/doctor"
	"pretext/trainer/session/speed"
)

func newDoctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show the CPU and GPUs of this machine, and their training speed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			measured, err := speed.CPU(cmd.Context())
			if err != nil {
				return err
			}
			found := &diagnosis{Version: cli.Version(), Processors: runtime.GOMAXPROCS(0), Detected: "none", CPU: measured, CUDA: gpu.Examine()}
			if i := slices.IndexFunc(measured, func(c speed.Capacity) bool { return c.Available }); i >= 0 {
				found.Detected = measured[i].ISA
			}
			return show(cmd, found)
		},
	}
	addJSON(cmd)
	return cmd
}

// A diagnosis is the result of doctor.
type diagnosis struct {
	Version    string           `json:"version"`
	Processors int              `json:"processors"`
	Detected   string           `json:"detected"` // instruction set that training uses
	CPU        []speed.Capacity `json:"cpu"`      // the fastest instruction set first
	CUDA       gpu.Report       `json:"cuda"`
}

func (d *diagnosis) print(w io.Writer) error {
	fmt.Fprintf(w, "train-bert %s\nprocessors: %d\ndetected: %s\n", d.Version, d.Processors, d.Detected)
	for _, c := range d.CPU {
		if !c.Available {
			fmt.Fprintf(w, "cpu, %s: not on this machine\n", c.ISA)
			continue
		}
		fmt.Fprintf(w, "cpu, %s: %.0f tokens/s training the tiny model, 8 examples of 128 tokens; matrix product %.1f GFLOP/s\n", c.ISA, c.Tokens, c.FLOPS/1e9)
	}
	return printCUDA(w, d.CUDA)
}

// printCUDA writes a line for each CUDA library and each GPU. If there are none, it writes
// one line with the reason.
func printCUDA(w io.Writer, r gpu.Report) error {
	var b strings.Builder
	for _, l := range r.Libraries {
		fmt.Fprintf(&b, "cuda, %s: %s, %s\n", l.Name, l.Version, l.Path)
	}
	if r.Problem != "" {
		fmt.Fprintf(&b, "cuda: %s\n", r.Problem)
	}
	if r.NCCL != "" {
		fmt.Fprintf(&b, "cuda, several ranks: they exchange gradients through host memory, which is slow: %s\n", r.NCCL)
	}
	for i, g := range r.GPUs {
		fmt.Fprintf(&b, "cuda:%d: %s, %s, compute capability %s, %d multiprocessors\n", i, g.Name, humanize.Bytes(g.Memory), g.Capability, g.Multiprocessors)
		if g.Problem != "" {
			fmt.Fprintf(&b, "cuda:%d: cannot be used: %s\n", i, g.Problem)
			continue
		}
		fmt.Fprintf(&b, "cuda:%d: %d kernels compiled in %.1f s; copies %.2f TB/s (read and written), matrix product in bf16 %.0f TFLOP/s\n", i, g.Kernels, g.CompileSeconds, g.Copy/1e12, g.FLOPS/1e12)
		if len(g.Spilling) > 0 {
			fmt.Fprintf(&b, "cuda:%d: slower than they should be, since the driver gave them a stack: %s\n", i, strings.Join(g.Spilling, " "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
