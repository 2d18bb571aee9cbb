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
	group string   // of several checks that are asked for by one name, or ""
	args  []string // of bash, from the module's root
	reads []string // see the package comment; with the script itself
	// chance is true if what it finds depends on luck. A finding is printed, and the check
	// is not green, but it does not fail a change that has nothing to do with it.
	chance bool
}

// folder has the checks' files, below the module's root.
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
	targets, err := fuzzPackages(root)
	if err != nil {
		return nil, err
	}
	for _, dir := range targets {
		checks = append(checks, check{name: "fuzz:" + dir, group: "fuzz", args: []string{fuzzAll, "${FUZZTIME:-5s}", dir},
			reads: []string{"test:" + dir, fuzzAll}, chance: true})
	}
	return checks, nil
}

var readsLine = regexp.MustCompile(`(?m)^# reads: (.*)$`)

// declared returns the words of the lines "# reads:" of a script.
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

// fuzzPackages returns the directories of the packages that have fuzz targets.
func fuzzPackages(root string) ([]string, error) {
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
	return slices.Compact(dirs), nil
}
