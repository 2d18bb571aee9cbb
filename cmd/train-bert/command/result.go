package command

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// A result is what a command prints: lines for people, or an object for scripts.
type result interface {
	print(w io.Writer) error
}

// addJSON adds the flag --json to a command that shows a result.
func addJSON(cmd *cobra.Command) { cmd.Flags().Bool("json", false, "write the result as JSON") }

// show prints the result of a command, with --json as one line of JSON.
func show(cmd *cobra.Command, r result) error {
	asJSON, err := cmd.Flags().GetBool("json")
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
	}
	return r.print(cmd.OutOrStdout())
}

// A modelFolder is the result of a command that writes a model.
type modelFolder struct {
	Model string `json:"model"`
}

func (m modelFolder) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "model: %s\n", m.Model)
	return err
}
