package store

import (
	"os"
	"path/filepath"
	"testing"
)

func TestALocationIsAPathOrAURL(t *testing.T) {
	for _, c := range []struct{ text, whole, base, dir, joined string }{
		{"a/b", "a/b", "b", "a", "a/b/x/y"},
		{"/a/b/", "/a/b/", "b", "/a/b", "/a/b/x/y"},
		{"", "", ".", ".", "x/y"},
		{"a:/b", "a:/b", "b", "a:", "a:/b/x/y"},
		{"./a://b", "./a://b", "b", "a:", "a:/b/x/y"}, // a scheme has no slash
		{"s3://b", "s3://b", "b", "s3://b", "s3://b/x/y"},
		{"s3://b/", "s3://b", "b", "s3://b", "s3://b/x/y"},
		{"S3://B/c.tfrecord", "s3://B/c.tfrecord", "c.tfrecord", "s3://B", "s3://B/c.tfrecord/x/y"},
		{"s3://b//c/./d/", "s3://b/c/d", "d", "s3://b/c", "s3://b/c/d/x/y"},
		{"s3://b/../../c", "s3://b/c", "c", "s3://b", "s3://b/c/x/y"}, // stays in its bucket
		{"mem://b/c", "mem://b/c", "c", "mem://b", "mem://b/c/x/y"},
	} {
		l := Locate(c.text)
		if got := l.String(); got != c.whole {
			t.Errorf("Locate(%q) = %q, want %q", c.text, got, c.whole)
		}
		if got := Base(c.text); got != c.base {
			t.Errorf("Base(%q) = %q, want %q", c.text, got, c.base)
		}
		if got := Dir(c.text); got != c.dir {
			t.Errorf("Dir(%q) = %q, want %q", c.text, got, c.dir)
		}
		if got := Join(c.text, "x", "y"); got != c.joined {
			t.Errorf("Join(%q, x, y) = %q, want %q", c.text, got, c.joined)
		}
	}
}

func TestOnlyALocalLocationDependsOnTheWorkingDirectory(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Absolute("a/b"), filepath.Join(wd, "a/b"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Absolute("s3://b/x"); got != "s3://b/x" {
		t.Errorf("got %q", got)
	}
	if _, ok := Locate("s3://b/x").Local(); ok {
		t.Error("a URL is not local")
	}
	if path, ok := Locate("x y").Local(); !ok || path != "x y" {
		t.Errorf("got %q, %v", path, ok)
	}
}

func FuzzLocate(f *testing.F) {
	for _, seed := range []string{"a/b", "s3://b/c", "s3://b/../c", "://", "s3:///x", "s3://"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l := Locate(text)
		if again := Locate(l.String()); again != l {
			t.Fatalf("%q: %+v, then %+v", text, l, again)
		}
		if _, ok := l.Local(); ok {
			return
		}
		if x := l.Join("x"); x.Base() != "x" || x.Dir() != l {
			t.Fatalf("%q joined with x: %+v", text, x)
		}
	})
}
