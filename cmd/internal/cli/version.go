package cli

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"pretext/internal/version"
)

// NewVersion returns the command "version", which prints the same text as --version, or
// with --json a JSON object.
func NewVersion() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Prints the version of the program, of the Go that built it, and the system that
it was built for: the same text as --version, or with --json one JSON object.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root := cmd.Root()
			if !asJSON {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s version %s\n", root.Name(), root.Version)
				return err
			}
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetIndent("", "  ")
			return enc.Encode(struct {
				Name    string `json:"name"`
				Version string `json:"version"`
				Go      string `json:"go"`
				OS      string `json:"os"`
				Arch    string `json:"arch"`
			}{root.Name(), version.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the result as JSON")
	return cmd
}

// Version returns the program's version, Go's version, the operating system and the
// architecture, as one line.
func Version() string {
	return fmt.Sprintf("%s %s %s/%s", version.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
