// Instructions counts the instructions that a program takes for the same work on amd64
// with AVX2 and on arm64, on the emulator qemu-user, whose time says nothing:
//
//	go run ./internal/dev/instructions                       # the demo of prepare-data
//	go run ./internal/dev/instructions run --out OUT …       # any command of it; OUT is replaced by a temporary directory
//	go run ./internal/dev/instructions training              # one step of training BERT-tiny
//
// It prints the packages with the most instructions, the sums without SHA-256 (the
// emulator's amd64 has no instructions for it, its arm64 has), and the ratio; it fails if
// the ratio is above the limit. It needs qemu-aarch64, qemu-x86_64 (QEMU 7.2 to 8.2) and cc.
package main

import (
	"bufio"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"pretext/internal/store"
)

const shown = 25 // packages that are printed

// A program has the work that is counted by default, and the limit: arm64 may take so many
// times the instructions of amd64. A register of NEON has half the floats of one of AVX2, which
// are most of what a trainer computes with.
type program struct {
	build []string // arguments of go that build it; the file and the package follow
	from  string   // the package
	args  []string
	most  float64
}

var (
	prepareData = program{[]string{"build"}, "./cmd/prepare-data", []string{"demo", "--quiet", "--out", "OUT"}, 1.3}
	training    = program{[]string{"test", "-vet=off", "-c"}, "./trainer/cpu", []string{"-test.run", "^$", "-test.bench", "^BenchmarkStep$/^tiny$/^(avx2|neon)$/^1_threads$", "-test.benchtime", "1x"}, 2}
)

// A target is a program for one architecture and what runs it.
type target struct {
	arch     string
	emulator []string
}

var targets = []target{
	{"amd64", []string{"qemu-x86_64", "-cpu", "max"}}, // which has AVX2 and no AVX-512
	{"arm64", []string{"qemu-aarch64"}},
}

func main() {
	if err := compare(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "instructions: %v\n", err)
		os.Exit(1)
	}
}

// compare runs a command for each target and prints the table.
func compare(args []string, out io.Writer) error {
	p := prepareData
	switch {
	case len(args) == 1 && args[0] == "training":
		p = training
	case len(args) > 0:
		p.args = args
	}
	dir, err := os.MkdirTemp("", "instructions")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plugin := filepath.Join(dir, "plugin.so")
	if err := run(nil, "cc", "-O2", "-shared", "-fPIC", "-o", plugin, "internal/dev/instructions/plugin/plugin.c"); err != nil {
		return err
	}
	counts := make([]map[string]uint64, len(targets))
	for i, t := range targets {
		if counts[i], err = t.count(filepath.Join(dir, t.arch), plugin, p); err != nil {
			return fmt.Errorf("%s: %w", t.arch, err)
		}
	}
	return table(out, counts[0], counts[1], p.most)
}

// run runs a command, and shows what it prints only if it fails.
func run(env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, output)
	}
	return nil
}

// count builds the program in dir, runs it and returns the instructions of each package.
// One thread runs at a time, so that the plugin misses none.
func (t target) count(dir, plugin string, p program) (map[string]uint64, error) {
	file := filepath.Join(dir, "program")
	if err := run([]string{"CGO_ENABLED=0", "GOARCH=" + t.arch, "GOOS=linux"}, "go", append(slices.Clip(p.build), "-trimpath", "-o", file, p.from)...); err != nil {
		return nil, err
	}
	command := slices.Concat(t.emulator[1:], []string{"-plugin", plugin, file})
	for _, arg := range p.args {
		if arg == "OUT" {
			arg = filepath.Join(dir, "out")
		}
		command = append(command, arg)
	}
	blocks := filepath.Join(dir, "blocks")
	if err := run([]string{"GOMAXPROCS=1", "INSTRUCTIONS_OUT=" + blocks}, t.emulator[0], command...); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(blocks + ".*")
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, errors.New("the plugin wrote no counts"))
	}
	functions, err := functionsOf(file)
	if err != nil {
		return nil, err
	}
	byPackage := map[string]uint64{}
	for _, file := range files {
		if err := addBlocks(byPackage, functions, file); err != nil {
			return nil, err
		}
	}
	return byPackage, nil
}

// functionsOf returns the functions of a program in the order of their addresses.
func functionsOf(program string) ([]elf.Symbol, error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	symbols = slices.DeleteFunc(symbols, func(s elf.Symbol) bool { return elf.ST_TYPE(s.Info) != elf.STT_FUNC })
	slices.SortFunc(symbols, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return symbols, nil
}

// addBlocks adds the counts in a file of the plugin to those of the packages.
func addBlocks(byPackage map[string]uint64, functions []elf.Symbol, file string) error {
	f, err := store.OpenRegular(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var address, instructions, count uint64
		if _, err := fmt.Sscan(lines.Text(), &address, &instructions, &count); err != nil {
			return fmt.Errorf("%s: %q: %w", file, lines.Text(), err)
		}
		i, found := slices.BinarySearchFunc(functions, address, func(s elf.Symbol, at uint64) int { return cmp.Compare(s.Value, at) })
		if !found {
			i--
		}
		name := "unknown"
		if i >= 0 {
			name = packageOf(functions[i].Name)
		}
		byPackage[name] += instructions * count
	}
	return lines.Err()
}

// packageOf returns the package of a function: its name up to the first dot after the
// last slash that is not within brackets.
func packageOf(function string) string {
	name, _, _ := strings.Cut(function, "[")
	slash := strings.LastIndexByte(name, '/') + 1
	path, _, _ := strings.Cut(name[slash:], ".")
	return name[:slash] + path
}

// sha256Package is not counted.
const sha256Package = "crypto/internal/fips140/sha256"

// table prints the instructions of the packages, the sums and their ratio, which is at most
// most.
func table(out io.Writer, amd64, arm64 map[string]uint64, most float64) error {
	sum := func(counts map[string]uint64) (n uint64) {
		for name, count := range counts {
			if name != sha256Package {
				n += count
			}
		}
		return n
	}
	a, b := sum(amd64), sum(arm64)
	if a == 0 || b == 0 {
		return errors.New("no instructions were counted")
	}
	names := slices.SortedFunc(maps.Keys(arm64), func(x, y string) int { return cmp.Compare(arm64[y], arm64[x]) })
	const format = "%-50s %12.1f %12.1f %6.2f\n"
	fmt.Fprintf(out, "%-50s %12s %12s %6s\n", "package, millions of instructions", "amd64, AVX2", "arm64", "ratio")
	for _, name := range names[:min(shown, len(names))] {
		fmt.Fprintf(out, format, name, float64(amd64[name])/1e6, float64(arm64[name])/1e6, float64(arm64[name])/float64(max(1, amd64[name])))
	}
	ratio := float64(b) / float64(a)
	fmt.Fprintf(out, format, "all without SHA-256", float64(a)/1e6, float64(b)/1e6, ratio)
	if ratio > most {
		return fmt.Errorf("arm64 takes %.2f times the instructions of amd64, more than %.1f", ratio, most)
	}
	return nil
}
