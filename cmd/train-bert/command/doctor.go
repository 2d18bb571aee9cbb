package command

import (
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/trainer/session/speed"
)

func newDoctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what this machine can train with, and how fast",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			measured, err := speed.CPU(cmd.Context())
			if err != nil {
				return err
			}
			found := &diagnosis{Version: cli.Version(), Processors: runtime.GOMAXPROCS(0), Detected: "none", CPU: measured}
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
	CUDA       bool             `json:"cuda"`
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
	_, err := fmt.Fprintln(w, "cuda: not in this build")
	return err
}
