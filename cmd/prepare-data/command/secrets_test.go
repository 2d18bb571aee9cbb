package command

import (
	"context"
	"io"
	"testing"

	"pretext/cmd/internal/clitest"
)

// secretive are the beginnings of options that take an address, and of arguments that
// may be one.
var secretive = [][]string{
	{"run", "--runner=flink", "--flink-rest=http://127.0.0.1:1", "--set=parallelism=1", "--endpoint"},
	{"run", "--runner=flink", "--endpoint=127.0.0.1:1", "--set=parallelism=1", "--flink-rest"},
	{"run", "--runner=flink", "--endpoint=127.0.0.1:1", "--flink-rest=http://127.0.0.1:1", "--set=parallelism=1", "--set=worker-pool="},
	{"run", "--worker-pool"},
	{"run", "--set"},
	{"run", "--cluster"},
	{"download", "--set=attempts=1", "--set=allow-private", "--url"},
	{"download", "--set=attempts=1", "--url=https://127.0.0.1:1/x.txt", "--set=mirror="},
	{"download", "--set=attempts=1", "--url=https://127.0.0.1:1/x.txt", "--set=allow-host="},
	{"download", "--set=attempts=1"},
	{"run", "--wiki-dump"},
	{"run", "--books"},
	{"run", "--preset"},
	{"run", "--shards"},
	{"examples", "--vocab=none.txt", "--documents"},
	{"examples", "--vocab"},
	{"plan", "--offline", "--url"},
	{"verify"},
	{"report"},
	{"convert", "--to"},
	{"worker", "--pool", "--listen"},
	{"config", "run", "--endpoint"},
	{"config", "--json", "run", "--url"},
}

// No result, message or file of a command contains the secret in an address, whatever
// option the address was given to.
func TestNoSecretOfAnAddressIsPrinted(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Chdir(t.TempDir())
	clitest.Silent(t, secretive, func(ctx context.Context, out io.Writer, args []string) {
		root := NewRoot()
		root.SetOut(out)
		root.SetErr(out)
		root.SetArgs(Args(args))
		Report(out, root.ExecuteContext(ctx))
	})
}
