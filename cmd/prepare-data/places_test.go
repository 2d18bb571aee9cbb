//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNoEnvironmentChangesAByte(t *testing.T) {
	t.Parallel()
	c := demoSources(t)
	odd := filepath.Join(t.TempDir(), "with spaces, ünï cödé, [brackets]*? and 'quotes'", strings.Repeat("long/", 30), "new\nline")
	moved := smallRun(filepath.Join(odd, filepath.Base(c.dump)), filepath.Join(odd, "books"), filepath.Join(odd, "out"))
	if err := os.CopyFS(filepath.Join(odd, "books"), os.DirFS(c.books)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(c.dump, filepath.Join(odd, filepath.Base(c.dump))); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), linked); err != nil {
		t.Fatal(err)
	}
	plain, turkish := t.TempDir(), t.TempDir()
	relative := t.TempDir()
	for _, test := range []struct {
		name string
		p    *process
		out  string
	}{
		{"TZ, LC_ALL and one processor", shell(t, "export TZ=Asia/Kathmandu LC_ALL=C GOMAXPROCS=1 HOME=/nonexistent", c.run(plain)...), plain},
		{"a Turkish locale and a time zone that is not there", shell(t, "export TZ=:/nonexistent LANG=tr_TR.UTF-8 LC_ALL=tr_TR.UTF-8 GOMAXPROCS=7", c.run(turkish)...), turkish},
		{"odd paths", prepareData(t, moved...), filepath.Join(odd, "out")},
		{"a link for the output", prepareData(t, c.run(linked)...), linked + "/"},
		{"relative paths, no TMPDIR", shell(t, "unset TMPDIR; cd '"+relative+"'", c.run("out/../made")...), filepath.Join(relative, "made")},
		{"a TMPDIR that is not there", shell(t, "export TMPDIR=/nonexistent", c.run(filepath.Join(relative, "other"))...), filepath.Join(relative, "other")},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.p.succeed(t)
			c.sameTree(t, test.out, test.name)
		})
	}
}

func TestFilesHaveTheModeThatTheUmaskLeaves(t *testing.T) {
	t.Parallel()
	c := demoSources(t)
	for _, test := range []struct {
		umask string
		want  os.FileMode
	}{{"077", 0o600}, {"022", 0o644}} {
		out := t.TempDir()
		shell(t, "umask "+test.umask, c.run(out)...).succeed(t)
		c.sameTree(t, out, "umask "+test.umask)
		for name := range c.tree {
			if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Mode().Perm() != test.want {
				t.Errorf("umask %s: %s has mode %v (%v), want %v", test.umask, name, info.Mode(), err, test.want)
			}
		}
	}
}
