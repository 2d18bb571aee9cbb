package command

import (
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/pipeline/flink"
	"pretext/pipeline/stage"
)

// clusterFlags are the flags for running on a Flink cluster.
var clusterFlags = []string{"endpoint", "flink-rest", "parallelism", "worker-program", "worker-pool", "worker-secret", "worker-logs"}

// clusterBundle is the flag for a file that describes a cluster: its addresses, and the
// files and options of its workers.
var clusterBundle = cli.Bundle{
	Flag: "cluster", Keys: append([]string{"runner", "workers", "memory", "temp-dir"}, clusterFlags...),
	Implied: "runner=" + stage.Flink,
}

// addCluster adds the flags that describe a Flink cluster.
func addCluster(fs *pflag.FlagSet, c *flink.Cluster) {
	fs.String(clusterBundle.Flag, "", "`FILE` that describes a Flink cluster, in the form of --config (docs/cluster.md); implies --runner flink")
	fs.StringVar(&c.Endpoint, "endpoint", "", "`HOST:PORT` of Beam's job server")
	fs.StringVar(&c.REST, "flink-rest", "", "`URL` of the REST interface of Flink's JobManager, such as http://jobmanager:8081")
	fs.IntVar(&c.Parallelism, "parallelism", 1, "number of Flink task slots to use; does not affect the output's bytes")
	fs.StringVar(&c.Program, "worker-program", "", "`path` of prepare-data on every TaskManager; default: the path of this program")
	fs.StringVar(&c.Pool, "worker-pool", "", "`HOST:PORT` where each TaskManager reaches its worker pool (prepare-data worker --pool), instead of --worker-program")
	fs.StringVar(&c.Secret, "worker-secret", "", "`file` with the secret of the worker pools (worker --pool --secret); mode 0600")
	fs.StringVar(&c.Logs, "worker-logs", "", "`directory` on every TaskManager for the logs of failed workers; default: the temporary directory")
}

// checkCluster returns a usage error if the cluster flags do not match the value of
// --runner.
func checkCluster(r stage.Runner, changed func(flag string) bool) error {
	if r.Name == stage.Flink {
		return r.Cluster.Validate()
	}
	for _, name := range clusterFlags {
		if changed(name) {
			return usagef("--%s: needs --runner flink", name)
		}
	}
	return nil
}
