package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/internal/config"
)

// normalize returns the flag's name in this program: hyphens for underscores, and
// --vocab for create_pretraining_data.py's --vocab_file.
func normalize(fs *pflag.FlagSet, name string) pflag.NormalizedName {
	n := cli.Normalize(fs, name)
	if n == "vocab-file" {
		return "vocab"
	}
	return n
}

// googleFlags maps flags of create_pretraining_data.py that this program does not have
// to the advice what to use instead.
var googleFlags = map[string]string{
	"input-file":  "give --text FILE to prepare-data examples, once for each file, or --text 'PATTERN'",
	"output-file": "give --out DIR: shards are written there as train-00000-of-….tfrecord",
}

// googleCure adds to the error of an unknown flag what to use instead: for a flag of
// create_pretraining_data.py from googleFlags, otherwise the most similar flag.
func googleCure(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		if cure, ok := googleFlags[config.Normal(missing.GetSpecifiedName())]; ok {
			return fmt.Errorf("%w: %s", err, cure)
		}
	}
	return cli.Suggest(cmd, err)
}
