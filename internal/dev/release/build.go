package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// A platform is a system that programs are built for.
type platform struct {
	os, arch string
	wheel    string // platform tags of the wheel
}

// platforms are those of a release. The Linux programs are static, so they run
// with any C library; macOS 12 is the oldest that Go supports.
var platforms = []platform{
	{"linux", "amd64", "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"},
	{"linux", "arm64", "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"},
	{"darwin", "amd64", "macosx_12_0_x86_64"},
	{"darwin", "arm64", "macosx_12_0_arm64"},
	{"windows", "amd64", "win_amd64"},
}

func (p platform) String() string { return p.os + "/" + p.arch }

func (p platform) executable(name string) string {
	if p.os == "windows" {
		return name + ".exe"
	}
	return name
}

// programNames are the programs of a release.
var programNames = []string{"prepare-data", "train-bert"}

// programs are those of one platform.
type programs struct {
	platform
	files []file             // in the order of programNames
	built []*debug.BuildInfo // of each: the modules in it
}

// A file is part of an archive. The name has slashes.
type file struct {
	name string
	mode os.FileMode
	data []byte
}

// build builds the programs of a platform and, the first time, makes the pages.
func (r *release) build(ctx context.Context, name string) (programs, error) {
	i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
	if i < 0 {
		return programs{}, fmt.Errorf("platform %q: must be one of %v", name, platforms)
	}
	out := programs{platform: platforms[i]}
	dir, err := r.compile(ctx, out.platform)
	if err != nil {
		return out, err
	}
	for _, name := range programNames {
		data, err := os.ReadFile(filepath.Join(dir, out.executable(name)))
		if err != nil {
			return out, err
		}
		info, err := buildinfo.Read(bytes.NewReader(data))
		if err != nil {
			return out, fmt.Errorf("%s for %s: %w", name, out.platform, err)
		}
		out.files = append(out.files, file{out.executable(name), 0o755, data})
		out.built = append(out.built, info)
	}
	if r.pages == nil {
		r.pages, err = r.makePages(ctx)
	}
	return out, err
}

// compile builds the programs of a platform, once, and returns their folder.
func (r *release) compile(ctx context.Context, p platform) (dir string, err error) {
	dir = filepath.Join(r.work, p.os+"-"+p.arch)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	args := []string{"build", "-tags", "cluster", "-trimpath", "-buildvcs=false", "-mod=readonly",
		"-ldflags", "-s -w -X pretext/internal/version.release=" + r.version, "-o", dir + string(filepath.Separator)}
	for _, name := range programNames {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.source
	cmd.Env = append(os.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build for %s: %v: %s", p, err, out)
	}
	return dir, nil
}

// Places of the pages, as below /usr/local. Shells and man find them there.
const (
	manPages   = "share/man/man1/"
	bashPages  = "share/bash-completion/completions/"
	zshPages   = "share/zsh/site-functions/"
	fishPages  = "share/fish/vendor_completions.d/"
	powershell = "share/powershell/"
)

// makePages runs the programs of this machine, which write manual pages and
// completions.
func (r *release) makePages(ctx context.Context) (pages []file, err error) {
	dir, err := r.compile(ctx, platform{os: runtime.GOOS, arch: runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	man := filepath.Join(r.work, "man")
	for _, name := range programNames {
		run := func(args ...string) ([]byte, error) {
			cmd := exec.CommandContext(ctx, filepath.Join(dir, platform{os: runtime.GOOS}.executable(name)), args...)
			cmd.Stderr = os.Stderr
			return cmd.Output()
		}
		list, err := run("man", "--out", man)
		if err != nil {
			return nil, fmt.Errorf("%s man: %w", name, err)
		}
		for _, page := range strings.Fields(string(list)) {
			data, err := os.ReadFile(filepath.Join(man, page))
			if err != nil {
				return nil, err
			}
			pages = append(pages, file{manPages + page, 0o644, data})
		}
		for _, c := range [][2]string{{"bash", bashPages + name}, {"zsh", zshPages + "_" + name}, {"fish", fishPages + name + ".fish"}, {"powershell", powershell + name + ".ps1"}} {
			data, err := run("completion", c[0])
			if err != nil {
				return nil, fmt.Errorf("%s completion %s: %w", name, c[0], err)
			}
			pages = append(pages, file{c[1], 0o644, data})
		}
	}
	return pages, nil
}
