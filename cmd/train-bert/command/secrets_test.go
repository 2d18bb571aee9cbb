package command

import (
	"context"
	"io"
	"testing"

	"pretext/cmd/internal/clitest"
)

// No output of a command holds the secret in an address, whatever option it was given to:
// not the results, the messages or the files.
func TestNoSecretOfAnAddressIsPrinted(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Chdir(t.TempDir())
	commands := [][]string{
		{"train", "--out=out", "--data"}, {"train", "--data=none", "--out=out", "--init"}, {"train", "--data=none", "--out"},
		{"eval"}, {"eval", "none", "--data"}, {"predict", "none", "--serve"}, {"import"}, {"export", "--out=x"}, {"train", "--device"},
		{"config", "train", "--data"},
	}
	clitest.Silent(t, commands, func(ctx context.Context, out io.Writer, args []string) {
		root := NewRoot()
		root.SetOut(out)
		root.SetErr(out)
		root.SetArgs(args)
		Report(out, root.ExecuteContext(ctx))
	})
}
