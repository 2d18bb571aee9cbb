package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"pretext/internal/dev/realdata"
)

// inputs holds the files of the repository and the imports of each package. Imports
// are parsed from the files, whatever their build tags, so a hash does not depend on
// a module cache. It depends on the machine only if a check asks for it.
type inputs struct {
	root    string
	files   []string            // sorted, slash-separated, below root
	inDir   map[string][]string // the files of a directory
	imports map[string][]string // directory of a package → directories of the packages that it imports
	tests   map[string][]string // the same for its tests
	sums    map[string]string   // hashes of files
}

// module is the prefix of the import paths of this module's packages.
const module = "pretext/"

func newInputs(root string) (*inputs, error) {
	files, err := tracked(root)
	if err != nil {
		return nil, err
	}
	in := &inputs{root: root, files: files, inDir: map[string][]string{}, imports: map[string][]string{}, tests: map[string][]string{}, sums: map[string]string{}}
	for _, name := range files {
		dir := filepath.ToSlash(filepath.Dir(name))
		in.inDir[dir] = append(in.inDir[dir], name)
		if !strings.HasSuffix(name, ".go") || strings.Contains(name, "testdata/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		to := in.imports
		if strings.HasSuffix(name, "_test.go") {
			to = in.tests
		}
		to[dir] = slices.Grow(to[dir], 1) // also of a package without imports
		for _, imp := range f.Imports {
			if own, ok := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module); ok && !slices.Contains(to[dir], own) {
				to[dir] = append(to[dir], own)
			}
		}
	}
	return in, nil
}

// tracked returns the files that git tracks or would add.
func tracked(root string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	names = slices.DeleteFunc(names, func(name string) bool { // removed, but not yet by a commit
		info, err := os.Lstat(filepath.Join(root, name))
		return err != nil || info.IsDir()
	})
	slices.Sort(names)
	return slices.Compact(names), nil
}

// hash returns the hash of all inputs of a check: of a list of their names and
// hashes, in a fixed order.
func (in *inputs) hash(c check) (string, error) {
	items := map[string]string{"go": runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH}
	for _, word := range append([]string{"go.mod", "go.sum"}, c.reads...) {
		if err := in.add(items, word); err != nil {
			return "", fmt.Errorf("%s reads %s: %w", c.name, word, err)
		}
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(items)) {
		fmt.Fprintf(h, "%s\x00%s\n", name, items[name])
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// add adds the files that a word of "# reads:" names to items, with their hashes.
func (in *inputs) add(items map[string]string, word string) error {
	kind, rest, ok := strings.Cut(word, ":")
	if !ok {
		return in.addPath(items, word)
	}
	switch kind {
	case "go":
		return in.addPackages(items, rest, false)
	case "test":
		return in.addPackages(items, rest, true)
	case "data":
		// Adds a file of the real data, or all files of a directory there.
		root := filepath.Join(realdata.Root(), filepath.FromSlash(rest))
		return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			sum, err := hashFile(path)
			rel, _ := filepath.Rel(root, path)
			items["data:"+rest+"/"+filepath.ToSlash(rel)] = sum
			return err
		})
	case "env":
		return errors.Join(in.addPath(items, folder+"/envs/"+rest+".txt"), in.addPath(items, folder+"/env.sh"))
	case "block":
		// Adds the first code block below a heading, which is given as FILE#HEADING
		// with _ for spaces.
		file, heading, _ := strings.Cut(rest, "#")
		text, err := os.ReadFile(filepath.Join(in.root, file))
		if err != nil {
			return err
		}
		_, section, ok := strings.Cut(string(text), "\n## "+strings.ReplaceAll(heading, "_", " ")+"\n")
		_, block, ok2 := strings.Cut(section, "\n```sh\n")
		block, _, ok3 := strings.Cut(block, "\n```")
		if !ok || !ok2 || !ok3 {
			return errors.New("no such heading with a code block")
		}
		items["block:"+rest] = strconv.Quote(block)
		return nil
	case "code":
		return in.addFiles(items, in.files, func(name string) bool { return !strings.HasSuffix(name, ".md") })
	case "machine":
		text, err := machine()
		items["machine"] = text
		return err
	}
	return fmt.Errorf("unknown kind of input %q", kind)
}

// addPath adds a file, or all files below a directory.
func (in *inputs) addPath(items map[string]string, path string) error {
	n := len(items)
	err := in.addFiles(items, in.files, func(name string) bool {
		return name == path || strings.HasPrefix(name, strings.TrimSuffix(path, "/")+"/")
	})
	if err == nil && len(items) == n && items[path] == "" {
		return errors.New("no such file in the repository")
	}
	return err
}

// addPackages adds the files of packages and of what they import. With tests it adds
// those of the packages themselves, their test data and what they import.
func (in *inputs) addPackages(items map[string]string, pattern string, tests bool) error {
	dirs := in.match(strings.TrimPrefix(pattern, "./"))
	if len(dirs) == 0 {
		return errors.New("no such package")
	}
	todo := slices.Clone(dirs)
	if tests {
		for _, dir := range dirs {
			todo = append(todo, in.tests[dir]...)
			below := dir + "/testdata/"
			if err := in.addFiles(items, in.files, func(name string) bool {
				return strings.HasPrefix(name, below) || strings.HasSuffix(name, "_test.go") && filepath.ToSlash(filepath.Dir(name)) == dir
			}); err != nil {
				return err
			}
		}
	}
	seen := map[string]bool{}
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		todo = append(todo, in.imports[dir]...)
		if err := in.addFiles(items, in.ofPackage(dir), func(name string) bool { return !strings.HasSuffix(name, "_test.go") }); err != nil {
			return err
		}
	}
	return nil
}

// ofPackage returns the files in the directory of a package. It adds files in
// directories below it that are not packages, because the package may embed them, but
// no test data or Markdown.
func (in *inputs) ofPackage(dir string) (names []string) {
	for _, d := range slices.Sorted(maps.Keys(in.inDir)) {
		if d != dir && !strings.HasPrefix(d, dir+"/") || strings.Contains(d+"/", "/testdata/") || d != dir && in.belongs(d) != dir {
			continue
		}
		names = append(names, in.inDir[d]...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, ".md") })
}

// belongs returns the nearest directory at or above dir that is a package.
func (in *inputs) belongs(dir string) string {
	for ; dir != "."; dir = filepath.ToSlash(filepath.Dir(dir)) {
		if _, ok := in.imports[dir]; ok {
			break
		}
	}
	return dir
}

// match returns the directories of the packages that a pattern, DIR or DIR/...,
// matches.
func (in *inputs) match(pattern string) (dirs []string) {
	below, all := strings.CutSuffix(pattern, "...")
	for dir := range in.inDir {
		_, code := in.imports[dir]
		_, test := in.tests[dir]
		if (code || test) && (dir == pattern || all && (below == "" || strings.HasPrefix(dir+"/", below))) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}

// addFiles adds those files that are wanted, except files that the checks write.
func (in *inputs) addFiles(items map[string]string, names []string, want func(string) bool) error {
	for _, name := range names {
		if !want(name) || name == greenFile {
			continue
		}
		if in.sums[name] == "" {
			sum, err := hashFile(filepath.Join(in.root, name))
			if err != nil {
				return err
			}
			in.sums[name] = sum
		}
		items[name] = in.sums[name]
	}
	return nil
}

// machine returns the facts about this machine that may change the result of a check.
func machine() (string, error) {
	text := runtime.GOOS + "/" + runtime.GOARCH
	info, err := os.ReadFile("/proc/cpuinfo")
	if errors.Is(err, fs.ErrNotExist) {
		return text, nil
	}
	for line := range strings.Lines(string(info)) {
		if strings.HasPrefix(line, "flags") || strings.HasPrefix(line, "Features") {
			return text + " " + strings.TrimSpace(line), err
		}
	}
	return text, err
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
