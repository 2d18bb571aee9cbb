package command

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// A result is the output of a command, which can be printed as text, or with --json as one
// JSON object.
type result interface {
	print(w io.Writer) error
}

// addJSON adds the flag --json, which [show] reads.
func addJSON(cmd *cobra.Command) { cmd.Flags().Bool("json", false, "write the result as JSON") }

// show prints the result of a command as text, or with --json as one line of JSON.
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
