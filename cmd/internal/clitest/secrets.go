package clitest

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// secretForms are the common forms of addresses that contain a secret, here S.
var secretForms = []string{
	"me:S@127.0.0.1:1", "S@127.0.0.1:1", "https://me:S@127.0.0.1:1/a.txt", "https://S@127.0.0.1:1/a.txt", "https://127.0.0.1:1/a.txt?token=S",
	"https://127.0.0.1:1/a.txt;token=S", "https://127.0.0.1:1/a;S/b.txt", "https://127.0.0.1:1/token/S/a.txt", "https://127.0.0.1:1/a.txt#S",
	"https://me:S/x@127.0.0.1:1/a.txt", "https://me:a/S@127.0.0.1:1/a.txt", "https://127.0.0.1:1/me:S@inner/a.txt", "https://127.0.0.1:1/?a='S'", "https://127.0.0.1:1/a.txt%3Btoken=S",
	"https://127.0.0.1:1/api_key=S/a.txt", "wikimedia=https://me:S@127.0.0.1:1", "ftp://me:S@127.0.0.1/a", "s3://me:S@bucket/a", "//me:S@127.0.0.1:1/a", "me:S/a@127.0.0.1:1",
}

// Silent tests that commands do not reveal a secret in an address. It runs each command
// with each of secretForms as an additional argument, or appended to the last argument if
// that ends in "=". The test fails if the secret is in the output or in a file below the
// current directory, or if a command prints nothing.
func Silent(t *testing.T, commands [][]string, run func(ctx context.Context, out io.Writer, args []string)) {
	t.Helper()
	const secret = "Tk7secretQ"
	for _, begin := range commands {
		for _, form := range secretForms {
			args, form := slices.Clone(begin), strings.ReplaceAll(form, "S", secret)
			if last := len(args) - 1; strings.HasSuffix(args[last], "=") {
				args[last] += form
			} else {
				args = append(args, form)
			}
			var out bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			run(ctx, &out, args)
			cancel()
			if strings.Contains(out.String(), secret) || out.Len() == 0 {
				t.Errorf("%s: %q", strings.Join(args, " "), &out)
			}
		}
	}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(path+string(b), secret) {
			t.Errorf("file %s: %s", path, b)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
