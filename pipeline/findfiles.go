package pipeline

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pretext/extract/wiki"
	"pretext/internal/redact"
	"pretext/internal/store"
	"pretext/sharding"
)

// findFiles puts files in place of patterns (parts/*.bz2) and of folders of dumps
// and text files. What lies beside dumps, such as their index and checksums, is
// passed over where dumps are given too; parts of a dump that a pattern or folder
// gives are put into the order of their pages. Folders of books and those of the
// download stage stay as they are.
func findFiles(sources []Source, note func(string)) (found []Source, err error) {
	for _, s := range sources {
		if err := checkLocal(s); err != nil {
			return nil, err
		}
		paths, err := matches(s)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			found = append(found, Source{s.Kind, path})
		}
	}
	dumps := slices.ContainsFunc(found, func(s Source) bool { return s.Kind == KindWiki && wiki.Companion(s.Path) == "" })
	passed := map[string][]string{} // names, by what they are
	var kept []Source
	var parts []string
	for _, s := range found {
		what := ""
		if s.Kind == KindWiki {
			what = wiki.Companion(s.Path)
		}
		switch {
		case what != "" && dumps:
			passed[what] = append(passed[what], filepath.Base(s.Path))
		case what != "":
			return nil, &ConfigError{Err: fmt.Errorf("%s: %w", s.Path, wiki.NotDump(what))}
		default:
			kept = append(kept, s)
			if s.Kind == KindWiki {
				parts = append(parts, s.Path)
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(passed)) {
		names := passed[what]
		if len(names) == 1 {
			note(fmt.Sprintf("%s is not read: it is %s", names[0], what))
		} else {
			note(fmt.Sprintf("%s and %d more are not read: each is %s", names[0], len(names)-1, what))
		}
	}
	for _, line := range wiki.CheckParts(parts) {
		note("dump " + line)
	}
	return kept, nil
}

// checkLocal refuses addresses: sources are files of this machine.
func checkLocal(s Source) error {
	scheme, rest, ok := strings.Cut(s.Path, "://")
	if !ok || strings.ContainsAny(scheme, `/\`) {
		return nil
	}
	cure := "copy it to this machine first, and give the file"
	switch strings.ToLower(scheme) {
	case "http", "https":
		cure = "let --url download it, or --wiki NAME the newest dump of a wiki"
		if s.Kind == KindText || s.Kind == KindJSONL {
			cure = "download it first, with prepare-data download --url, and give the file"
		}
	case "gs":
		cure = "copy it to this machine first, with gcloud storage cp, and give the file"
	case "s3":
		cure = "copy it to this machine first, with aws s3 cp, and give the file"
	case "file":
		cure = "give the path alone, " + redact.URL("/"+strings.TrimLeft(rest, "/"))
	}
	return &ConfigError{Err: fmt.Errorf("%s is an address, not a file of this machine: %s", redact.URL(s.Path), cure)}
}

// matches returns the files that a source means.
func matches(s Source) ([]string, error) {
	info, err := os.Stat(s.Path)
	switch {
	case err == nil && info.IsDir() && (s.Kind == KindWiki || s.Kind == KindText):
		return filesOf(s)
	case err == nil || !strings.ContainsAny(s.Path, "*?["):
		return []string{s.Path}, nil // where it is not there, opening it says so
	}
	paths, err := filepath.Glob(s.Path)
	if err != nil {
		return nil, &ConfigError{Err: fmt.Errorf("pattern %s: %w", s.Path, err)}
	}
	if len(paths) == 0 {
		return nil, &ConfigError{Err: fmt.Errorf("no file matches %s", s.Path)}
	}
	if s.Kind == KindWiki {
		wiki.SortParts(paths)
	}
	return paths, nil
}

// filesOf returns the dumps or text files of a folder; a folder of the download
// stage is left to the one who knows its manifest.
func filesOf(s Source) (paths []string, err error) {
	folder, err := store.Open(s.Path)
	if err != nil {
		return nil, err
	}
	if isDownloads(folder) {
		return []string{s.Path}, nil
	}
	entries, err := os.ReadDir(s.Path) // sorted by name
	if err != nil {
		return nil, err
	}
	wanted, what := isDumpOrCompanion, "dump (.xml, .xml.bz2 or .xml.gz)"
	if s.Kind == KindText {
		wanted, what = isText, "text file (.txt, .txt.gz or .txt.zst)"
	}
	for _, e := range entries {
		path := filepath.Join(s.Path, e.Name())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && wanted(path) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return nil, &ConfigError{Err: fmt.Errorf("folder %s has no %s in it", s.Path, what)}
	}
	if s.Kind == KindWiki {
		wiki.SortParts(paths)
	}
	return paths, nil
}

func isDumpOrCompanion(path string) bool { return wiki.HasDumpName(path) || wiki.Companion(path) != "" }

// isText reports whether a file is called as text files are.
func isText(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	return strings.HasSuffix(name, ".txt") && !strings.HasPrefix(name, ".")
}

// isDownloads reports whether a folder is the download stage's.
func isDownloads(folder store.Folder) bool {
	plan, err := sharding.ReadPlan(context.Background(), folder)
	return err == nil && plan.Stage == "download"
}
