//go:build cluster

package clustertest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of the page work as they stand there.
func TestTheCommandsOfThePage(t *testing.T) {
	var dump string
	args := sources(t)
	for i, a := range args {
		if a == "--wiki-dump" {
			dump = args[i+1]
		}
	}
	script := "set -euo pipefail\n" + strings.Join(blocks(t, "sh"), "\n")
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(cmd.Environ(), "PATH="+filepath.Dir(shared.prepareData)+":"+"/usr/local/bin:/usr/bin:/bin",
		fmt.Sprintf("JOB_SERVER=127.0.0.1:%d", jobPort), fmt.Sprintf("FLINK=http://127.0.0.1:%d", restPort), fmt.Sprintf("POOL=127.0.0.1:%d", poolPort),
		"DUMP="+dump, "OUT="+filepath.Join(t.TempDir(), "out"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
