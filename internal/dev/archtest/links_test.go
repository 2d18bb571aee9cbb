package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// notAnchor is what GitHub drops from a heading to make its anchor.
	notAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// A page that names a file or a heading of another page names one that exists.
func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	links := 0
	pages := map[string]string{}
	err := filepath.WalkDir(root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" || d.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		pages[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range pages {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			links++
			target := path
			if to != "" {
				target = filepath.Join(filepath.Dir(path), filepath.FromSlash(to))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", path, m[1])
				continue
			}
			if page, ok := pages[target]; ok && anchor != "" && !anchors(page)[anchor] {
				t.Errorf("%s links to %s, and no heading there has that anchor", path, m[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("%d links were seen: is the module's root right?", links)
	}
}

// anchors returns the anchors of a page's headings, as GitHub makes them.
func anchors(page string) map[string]bool {
	set := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		text := link.ReplaceAllString(h[1], "]")
		text = notAnchor.ReplaceAllString(strings.ToLower(text), "")
		set[strings.ReplaceAll(strings.TrimSpace(text), " ", "-")] = true
	}
	return set
}
