package trust

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestASecretIsMadeOnceAndIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	secrets := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range secrets {
		wg.Go(func() {
			var err error
			if secrets[i], err = MakeSecret(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, s := range secrets {
		if !bytes.Equal(s, secrets[0]) || len(s) < MinSecret {
			t.Errorf("secrets %q and %q", s, secrets[0])
		}
	}
	if info, err := os.Stat(path); err != nil || os.Getuid() >= 0 && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".pretext-*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestASecretThatOthersMayReadIsRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := strings.Repeat("s", MinSecret)
	cases := []struct {
		path, want string
		modes      bool // the case needs modes
	}{
		{path: write("good", " "+long+"\n", 0o600)},
		{path: write("read-only", long, 0o400)},
		{path: write("group", long, 0o640), want: "other users may read it (mode 0640): chmod 600", modes: true},
		{path: write("world", long, 0o604), want: "other users may read it", modes: true},
		{path: write("writable", long, 0o602), want: "other users may read it", modes: true},
		{path: write("short", long[1:], 0o600), want: "a secret has from 16"},
		{path: write("endless", strings.Repeat("s", maxSecret+1), 0o600), want: "a secret has from 16"},
		{path: dir, want: "not a regular file"},
		{path: filepath.Join(dir, "none"), want: "none"},
	}
	if os.Getuid() == 0 {
		path := write("theirs", long, 0o600)
		if err := os.Chown(path, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, cases[0])
		cases[len(cases)-1].path, cases[len(cases)-1].want = path, "belongs to another user (65534)"
	}
	for _, c := range cases {
		if c.modes && os.Getuid() < 0 {
			continue
		}
		b, err := ReadSecret(c.path)
		if c.want == "" && (err != nil || string(b) != long) {
			t.Errorf("%s: %q %v", c.path, b, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.path, err, c.want)
		}
	}
}

// No two purposes, and no two lists of parts, have the same MAC.
func TestMACsOfDifferentThingsDiffer(t *testing.T) {
	key, seen := []byte("0123456789abcdef"), map[string]string{}
	for name, sum := range map[string][]byte{
		"a":     MAC(key, "p", []byte("a")),
		"key":   MAC(key[1:], "p", []byte("a")),
		"a, ''": MAC(key, "p", []byte("a"), nil),
		"pa":    MAC(key, "pa"),
		"ab, c": MAC(key, "p", []byte("ab"), []byte("c")),
		"a, bc": MAC(key, "p", []byte("a"), []byte("bc")),
	} {
		if other, ok := seen[string(sum)]; ok {
			t.Errorf("%s and %s have one MAC", name, other)
		}
		seen[string(sum)] = name
	}
}
