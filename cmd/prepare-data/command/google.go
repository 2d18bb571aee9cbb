package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/internal/config"
)

// normalize takes the flags of create_pretraining_data.py as they are written
// there where a flag of ours means the same.
func normalize(fs *pflag.FlagSet, name string) pflag.NormalizedName {
	n := cli.Normalize(fs, name)
	if n == "vocab-file" {
		return "vocab"
	}
	return n
}

// googleFlags are flags of create_pretraining_data.py that mean something else
// than any of ours, with what to give in their place.
var googleFlags = map[string]string{
	"input-file":  "give --text FILE to prepare-data examples, once for each file, or --text 'PATTERN'",
	"output-file": "give --out DIR: shards are written there as train-00000-of-….tfrecord",
}

// googleCure names what to give in place of a flag of create_pretraining_data.py
// that is not taken.
func googleCure(cmd *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if errors.As(err, &missing) {
		if cure, ok := googleFlags[config.Normal(missing.GetSpecifiedName())]; ok {
			return fmt.Errorf("%w: %s", err, cure)
		}
	}
	return cli.Suggest(cmd, err)
}
