package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A check is one script, or the fuzz targets of one package.
type check struct {
	name  string
	group string   // name by which several checks are run together, or ""
	args  []string // arguments of bash, run in the module's root
	reads []string // inputs, see the package comment; they include the script itself
	// chance marks a check whose result depends on luck. A failure is printed, and
	// the check is not recorded as green, but the command does not fail.
	chance bool
}

// folder is the directory of the checks' files, relative to the module's root.
const folder = "internal/dev/checks"

// readChecks returns every check: the scripts by name, then the fuzz targets by package.
func readChecks(root string) ([]check, error) {
	scripts, err := filepath.Glob(filepath.Join(root, folder, "scripts", "*.sh"))
	if err != nil {
		return nil, err
	}
	var checks []check
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".sh")
		own := folder + "/scripts/" + filepath.Base(path)
		reads, err := declared(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", own, err)
		}
		checks = append(checks, check{name: name, args: []string{own}, reads: append(reads, own)})
	}
	// The directories of the packages that have fuzz targets.
	files, err := tracked(root)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		if fuzzTarget.Match(text) {
			dirs = append(dirs, filepath.ToSlash(filepath.Dir(name)))
		}
	}
	slices.Sort(dirs)
	targets := slices.Compact(dirs)
	for _, dir := range targets {
		checks = append(checks, check{name: "fuzz:" + dir, group: "fuzz", args: []string{fuzzAll, "${FUZZTIME:-5s}", dir},
			reads: []string{"test:" + dir, fuzzAll}, chance: true})
	}
	return checks, nil
}

var readsLine = regexp.MustCompile(`(?m)^# reads: (.*)$`)

// declared returns the words of the "# reads:" lines of a script.
func declared(script string) (words []string, err error) {
	for _, line := range readsLine.FindAllStringSubmatch(script, -1) {
		words = append(words, strings.Fields(line[1])...)
	}
	if len(words) == 0 {
		return nil, fmt.Errorf(`no line "# reads:" says what it reads`)
	}
	return words, nil
}

// fuzzAll runs the fuzz targets of a package, or of all packages below a directory.
const fuzzAll = folder + "/fuzzall.sh"

var fuzzTarget = regexp.MustCompile(`(?m)^func Fuzz[A-Z]`)
