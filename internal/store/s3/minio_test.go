package s3_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"pretext/internal/dev/storetest"
	"pretext/internal/store"
	"pretext/internal/store/s3"
)

// The credentials of the server of the tests.
const (
	accessKey = "tester"
	secretKey = "not-a-secret-of-anybody"
)

func TestMain(m *testing.M) {
	binary := os.Getenv("PRETEXT_MINIO")
	if binary == "" {
		os.Exit(m.Run())
	}
	server, stop, err := startMinIO(binary)
	if err != nil {
		fmt.Fprintln(os.Stderr, "start MinIO:", err)
		os.Exit(1)
	}
	address, stopProxy := network.start(server)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_S3": "http://" + address, "AWS_ACCESS_KEY_ID": accessKey,
		"AWS_SECRET_ACCESS_KEY": secretKey, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"} {
		os.Setenv(name, value)
	}
	s3.Register()
	code := m.Run()
	stopProxy()
	stop()
	os.Exit(code)
}

// startMinIO starts a MinIO on a free port of the loopback, with its data in a
// temporary directory.
func startMinIO(binary string) (address string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	address = listener.Addr().String()
	listener.Close()
	dir, err := os.MkdirTemp("", "pretext-minio")
	if err != nil {
		return "", nil, err
	}
	var log bytes.Buffer
	cmd := exec.Command(binary, "server", "--quiet", "--address", address, "--console-address", "127.0.0.1:0", filepath.Join(dir, "data"))
	cmd.Env = append(os.Environ(), "MINIO_ROOT_USER="+accessKey, "MINIO_ROOT_PASSWORD="+secretKey, "MINIO_BROWSER=off", "MINIO_UPDATE=off", "HOME="+dir)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		cmd.Process.Kill() //nolint:errcheck // it ended
		cmd.Wait()         //nolint:errcheck // it was killed
		os.RemoveAll(dir)
	}
	c, err := minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(accessKey, secretKey, "")})
	for deadline := time.Now().Add(30 * time.Second); err == nil; time.Sleep(50 * time.Millisecond) {
		if err = c.MakeBucket(context.Background(), "pretext", minio.MakeBucketOptions{}); err == nil {
			return address, stop, nil
		}
		if time.Now().Before(deadline) {
			err = nil
		}
	}
	stop()
	return "", nil, fmt.Errorf("%w\n%s", err, log.Bytes())
}

func needMinIO(t *testing.T) {
	t.Helper()
	if os.Getenv("PRETEXT_MINIO") == "" {
		t.Skip("needs a MinIO server: set PRETEXT_MINIO to its program (make cluster-test does)")
	}
}

// location returns a location of its own for a test.
func location(t *testing.T) string {
	t.Helper()
	needMinIO(t)
	return "s3://pretext/" + strings.ReplaceAll(t.Name(), " ", "-")
}

// Opening a folder makes no request.
func TestARegisteredLocationIsOfS3(t *testing.T) {
	s3.Register()
	f, err := store.Open("s3://pretext/a/b")
	if err != nil || f.String() != "s3://pretext/a/b" {
		t.Errorf("got %v, %v", f, err)
	}
	if _, err := store.Open("s3://No_Bucket/a"); err == nil || !strings.Contains(err.Error(), "No_Bucket") {
		t.Errorf("a name that no bucket may have: got %v", err)
	}
}

func TestS3Folders(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Folder {
		f, err := store.Open(location(t))
		if err != nil {
			t.Fatal(err)
		}
		return f
	})
}
