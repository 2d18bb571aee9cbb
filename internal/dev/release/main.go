package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	var names []string
	for _, p := range platforms {
		names = append(names, p.String())
	}
	fs := flag.NewFlagSet("release", flag.ExitOnError)
	source := fs.String("source", ".", "root of the repository")
	out := fs.String("out", filepath.Join("bin", "release"), "folder that is replaced")
	chosen := fs.String("platforms", strings.Join(names, ","), "`OS/ARCH,…`")
	if err := fs.Parse(args); err != nil {
		return err
	}
	r, err := newRelease(*source)
	if err != nil {
		return err
	}
	defer r.close()
	if err := os.RemoveAll(*out); err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o777); err != nil {
		return err
	}
	var built []programs
	for _, name := range strings.Split(*chosen, ",") {
		p, err := r.build(ctx, name)
		if err != nil {
			return err
		}
		built = append(built, p)
	}
	if r.notices, err = r.makeNotices(ctx, built); err != nil {
		return err
	}
	return r.write(built, func(name string, data []byte) error {
		fmt.Fprintf(stdout, "%s\t%d\n", name, len(data))
		return os.WriteFile(filepath.Join(*out, name), data, 0o666)
	})
}

// write calls save for every file of the release, SHA256SUMS last.
func (r *release) write(built []programs, save func(name string, data []byte) error) error {
	var sums []string
	add := func(name string, data []byte, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		sums = append(sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name))
		return save(name, data)
	}
	for _, p := range built {
		name, data, err := r.archive(p)
		if err = add(name, data, err); err != nil {
			return err
		}
		name, data, err = r.wheel(p)
		if err = add(name, data, err); err != nil {
			return err
		}
	}
	for _, make := range []func([]programs) (string, []byte, error){r.image, r.bill} {
		name, data, err := make(built)
		if name == "" && err == nil {
			continue
		}
		if err = add(name, data, err); err != nil {
			return err
		}
	}
	slices.SortFunc(sums, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	return save("SHA256SUMS", []byte(strings.Join(sums, "")))
}

// A release is what is the same on all platforms.
type release struct {
	source  string // root of the repository
	version string
	work    string // temporary folder
	pages   []file // manual pages and completions below share/; nil: not made yet
	notices []byte // licences of what the programs contain
}

func newRelease(source string) (*release, error) {
	changes, err := os.ReadFile(filepath.Join(source, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	version, err := newest(changes)
	if err != nil {
		return nil, fmt.Errorf("CHANGELOG.md: %w", err)
	}
	work, err := os.MkdirTemp("", "pretext-release-")
	return &release{source: source, version: version, work: work}, err
}

func (r *release) close() { os.RemoveAll(r.work) }

var versionHeading = regexp.MustCompile(`^## (\d+\.\d+\.\d+)\b`)

// newest returns the version of the first heading of the changes.
func newest(changes []byte) (string, error) {
	for line := range bytes.Lines(changes) {
		if !bytes.HasPrefix(line, []byte("## ")) {
			continue
		}
		if m := versionHeading.FindSubmatch(line); m != nil {
			return string(m[1]), nil
		}
		break
	}
	return "", fmt.Errorf("its first heading of level 2 must begin with the version, as in \"## 0.1.0\"")
}
