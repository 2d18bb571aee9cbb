//go:build cluster

package clustertest

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// minioPort is the port of the object store, on loopback.
const minioPort = 19000

// minioProgram is the path of MinIO's server.
var minioProgram = os.Getenv("PRETEXT_MINIO")

// The object store of the tests; workers learn its address and credentials from
// the environment of the TaskManagers.
func init() {
	os.Unsetenv("PRETEXT_MINIO") // prepare-data takes PRETEXT_… for settings
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_S3": fmt.Sprintf("http://127.0.0.1:%d", minioPort), "AWS_ACCESS_KEY_ID": "tester",
		"AWS_SECRET_ACCESS_KEY": "not-a-secret-of-anybody", "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"} {
		os.Setenv(name, value)
	}
}

// startStore starts the object store with a bucket named pretext. It may be
// called again after a kill, and then finds its data.
func startStore(t *testing.T) {
	t.Helper()
	if minioProgram == "" {
		t.Fatal("PRETEXT_MINIO: must be the path of MinIO's server (make cluster-test sets it)")
	}
	data := shared.path("minio")
	cmd := exec.Command("env", "MINIO_ROOT_USER=tester", "MINIO_ROOT_PASSWORD=not-a-secret-of-anybody", "MINIO_BROWSER=off", "MINIO_UPDATE=off", "HOME="+shared.dir,
		minioProgram, "server", "--quiet", "--address", fmt.Sprintf("127.0.0.1:%d", minioPort), data)
	if err := shared.launch("minio", cmd); err != nil {
		t.Fatal(err)
	}
	until(t, "MinIO answers", func() bool {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/minio/health/ready", minioPort))
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	if err := os.MkdirAll(filepath.Join(data, "pretext"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// nothingLeft fails the test if an incomplete upload, or a note of one, is left.
func nothingLeft(t *testing.T) {
	t.Helper()
	uploads := filepath.Join(".minio.sys", "multipart")
	err := filepath.WalkDir(shared.path("minio"), func(path string, d fs.DirEntry, err error) error {
		left := strings.HasPrefix(d.Name(), ".upload-") || strings.HasPrefix(d.Name(), ".tmp-") || strings.Contains(path, uploads) && d.Name() == "xl.meta"
		if err == nil && left && !strings.Contains(path, filepath.Join(".minio.sys", "tmp")) {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The bytes of all stages in an object store are those on a disk, also when the
// store is restarted and a worker killed meanwhile.
func TestAnObjectStoreHoldsTheSameBytes(t *testing.T) {
	startStore(t)
	defer func() { shared.kill("minio") }()
	if err := shared.start("pool"); err != nil {
		t.Fatal(err)
	}
	defer shared.kill("pool")
	args := append([]string{"run"}, sources(t)...)
	disk := filepath.Join(t.TempDir(), "out")
	submit(t, shared.prepareData, append(args, "--out", disk)...).mustEnd(t, 0)
	same := func(out string) {
		t.Helper()
		submit(t, shared.prepareData, "verify", out).mustEnd(t, 0)
		diff := submit(t, shared.prepareData, "diff", disk, out)
		diff.mustEnd(t, 0)
		if !strings.Contains(diff.stdout.String(), "are the same") {
			t.Errorf("%s", diff.stdout.String())
		}
		nothingLeft(t)
	}
	process := submit(t, shared.prepareData, append(append(args, onFlink(2)...), "--out", "s3://pretext/process")...)
	process.mustEnd(t, 0)
	same("s3://pretext/process")

	// A pool's job, whose store is restarted and one of whose workers is killed.
	disturbed := submit(t, shared.prepareData, append(append(args, append(onFlink(2), onPool()...)...), "--out", "s3://pretext/pool")...)
	until(t, "a worker of the pool", func() bool { return len(workers("pool")) > 0 })
	shared.kill("minio")
	time.Sleep(2 * time.Second)
	startStore(t)
	until(t, "a worker of the pool", func() bool {
		select {
		case <-disturbed.done:
			return true
		default:
		}
		list := workers("pool")
		if len(list) == 0 {
			return false
		}
		p, err := os.FindProcess(list[0].pid)
		return err == nil && p.Kill() == nil
	})
	disturbed.mustEnd(t, 0)
	same("s3://pretext/pool")
}
