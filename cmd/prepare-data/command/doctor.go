package command

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/internal/doctor"
	"pretext/internal/failure"
)

// errMachine reports that a check of the command doctor failed.
var errMachine = failure.DoesNotFit("this machine is not fit for a run: see what failed")

func newDoctor() *cobra.Command {
	var asJSON bool
	var o doctor.Options
	memory, disk := byteSize(600e6), byteSize(1e9)
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine before a long run",
		Long: `Looks at processors, memory, limits, disks and clock, and at the folder of --out:
it writes, syncs, renames and removes a file there, as a run would.
One line each: ok, warn or fail, and what to do. Exit code 9 when something fails.
Neither Python nor anything else need be installed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckFolder("out", o.Out); err != nil {
				return err
			}
			o.Memory, o.Disk = int64(memory), int64(disk)
			checks := doctor.Examine(cmd.Context(), o)
			w := cmd.OutOrStdout()
			if asJSON {
				if err := printJSON(w, struct {
					Version string         `json:"version"`
					Level   doctor.Level   `json:"level"`
					Checks  []doctor.Check `json:"checks"`
				}{cli.Version(), doctor.Worst(checks), checks}); err != nil {
					return err
				}
			} else {
				t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
				fmt.Fprintf(t, "%s\tversion\t%s\n", doctor.OK, cli.Version())
				for _, c := range checks {
					fmt.Fprintf(t, "%s\t%s\t%s\n", c.Level, c.Name, cli.OneLine(c.Found))
					if c.Advice != "" {
						fmt.Fprintf(t, "\t\t%s\n", c.Advice)
					}
				}
				if err := t.Flush(); err != nil {
					return err
				}
			}
			if doctor.Worst(checks) == doctor.Fail {
				return errMachine
			}
			return nil
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&asJSON, "json", false, "write the result as JSON")
	fs.StringVarP(&o.Out, "out", "o", ".", "folder that will be written to")
	fs.Var(&memory, "memory", "memory that a run may use")
	fs.Var(&disk, "disk", "space that should be free at --out")
	return cmd
}
