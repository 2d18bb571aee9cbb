package download

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// parseSums parses a list of checksums in the format of sha256sum and similar tools:
// lines of the form "DIGITS  NAME" or "DIGITS *NAME". It returns the checksums by base
// name. Blank lines are skipped. Any other line is an error, because the list may be
// truncated.
func parseSums(list []byte, algorithm string) (map[string]Checksum, error) {
	sums := map[string]Checksum{}
	lines := bufio.NewScanner(bytes.NewReader(list))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), "\r \t")
		if line == "" {
			continue
		}
		digits, name, ok := strings.Cut(line, " ")
		if len(name) > 1 && (name[0] == ' ' || name[0] == '*') {
			name = name[1:]
		}
		sum, err := newChecksum(algorithm, digits)
		if !ok || name == "" || err != nil {
			return nil, fmt.Errorf("%w: invalid line %d in a list of checksums: %q", ErrCorrupt, n, clip(line))
		}
		name = path.Base(name)
		if old, twice := sums[name]; twice && old != sum {
			return nil, fmt.Errorf("%w: two checksums for %q", ErrCorrupt, clip(name))
		}
		sums[name] = sum
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: list of checksums: %w", ErrCorrupt, err)
	}
	return sums, nil
}

// listed matches the links in a web server's directory listing.
var listed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)href="([^"?#]+)"`) })

// parseDates returns the directory names that are dates in a web server's directory
// listing, in the form 2026-08-01, newest first.
func parseDates(listing []byte) (dates []string) {
	for _, m := range listed().FindAllSubmatch(listing, -1) {
		folder, ok := strings.CutSuffix(string(m[1]), "/")
		if !ok {
			continue
		}
		if d := wikiDate().FindStringSubmatch(path.Base(folder)); d != nil {
			dates = append(dates, d[1]+"-"+d[2]+"-"+d[3])
		}
	}
	slices.SortFunc(dates, func(a, b string) int { return cmp.Compare(b, a) })
	return slices.Compact(dates)
}

// A dumpStatus is the content of dumpstatus.json, which lists the files of a
// legacy dump.
type dumpStatus struct {
	Jobs map[string]struct {
		Status string              `json:"status"`
		Files  map[string]dumpFile `json:"files"`
	} `json:"jobs"`
}

type dumpFile struct {
	Size int64  `json:"size"`
	SHA1 string `json:"sha1"`
	MD5  string `json:"md5"`
}

// file returns the entry as a File, with its strongest checksum if there is one.
func (f dumpFile) file(name string) (file File, err error) {
	file = File{Name: name, Bytes: f.Size}
	switch {
	case f.Size < 0:
		err = fmt.Errorf("size %d", f.Size)
	case f.SHA1 != "":
		file.Checksum, err = newChecksum("sha1", f.SHA1)
	case f.MD5 != "":
		file.Checksum, err = newChecksum("md5", f.MD5)
	}
	return file, err
}

// dumpJobs gives the name, in dumpstatus.json, of the job that writes the articles of a
// legacy dump. The key is whether the dump is multistream.
var dumpJobs = map[bool]string{false: "articlesdump", true: "articlesmultistreamdump"}

// errUnfinished reports that a dump is not yet complete on the server.
var errUnfinished = fmt.Errorf("%w: the dump is not finished", ErrNotFound)

// parseDumpStatus parses dumpstatus.json and returns the files with the
// articles, in the order of their pages. date is the date of the dump in the
// form 20260801.
func parseDumpStatus(raw []byte, r Request, date string) ([]File, error) {
	var status dumpStatus
	if err := json.Unmarshal(raw, &status); err != nil {
		return nil, fmt.Errorf("%w: dumpstatus.json: %v", ErrCorrupt, err)
	}
	job := status.Jobs[dumpJobs[r.Multistream]]
	if job.Status != "done" {
		return nil, errUnfinished
	}
	part := "pages-articles"
	if r.Multistream {
		part += "-multistream"
	}
	ours := regexp.MustCompile(`^` + regexp.QuoteMeta(r.Wiki+"-"+date+"-"+part) + `\d*\.xml(-p\d+p\d+)?\.bz2$`)
	var files []File
	for _, name := range slices.Sorted(maps.Keys(job.Files)) {
		if !ours.MatchString(name) {
			continue
		}
		file, err := job.Files[name].file(name)
		if err != nil {
			return nil, fmt.Errorf("%w: dumpstatus.json: %s: %w", ErrCorrupt, name, err)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, errUnfinished
	}
	byPages(files)
	return files, nil
}

var pageRange = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`p(\d+)p(\d+)\.`) })

// byPages sorts the parts of a dump by the number of their first page.
func byPages(files []File) {
	first := func(f File) (n int64) {
		if m := pageRange().FindStringSubmatch(f.Name); m != nil {
			n, _ = number(m[1])
		}
		return n
	}
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), strings.Compare(a.Name, b.Name))
	})
}
