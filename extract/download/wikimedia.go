package download

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Maximum sizes, in bytes, of directory listings, lists of checksums and
// dumpstatus.json.
const (
	maxListing = 8 << 20
	maxSums    = 4 << 20
	maxStatus  = 32 << 20
)

// wikiLicence is the licence of the text of Wikimedia's wikis.
const wikiLicence = "CC BY-SA 4.0 and GFDL; attribution to the contributors of the wiki"

// A layout is a directory structure that Wikimedia uses for dumps.
type layout struct {
	name   string
	folder func(wiki string) string // URL of the directory with a subdirectory for each date
	files  func(ctx context.Context, c *Client, r Request, date string) (*List, error)
}

// layouts are the layouts in order of preference. Content exports come first:
// they replace XML dumps, which are deprecated according to the index page of
// 2026.
var layouts = []layout{
	{LayoutContent, contentFolder, contentFiles},
	{LayoutLegacy, legacyFolder, legacyFiles},
}

func contentFolder(wiki string) string {
	return "https://dumps.wikimedia.org/other/mediawiki_content_current/" + wiki
}

func legacyFolder(wiki string) string { return "https://dumps.wikimedia.org/" + wiki }

// newestTries is the maximum number of dates, from the newest on, that are tried to
// find a complete dump. Usually only the newest dump is incomplete.
const newestTries = 4

// resolveWiki lists the files of a wiki's dump.
func (c *Client) resolveWiki(ctx context.Context, r Request) (*List, error) {
	var available []string
	for _, l := range layouts {
		if r.Layout != LayoutAuto && r.Layout != l.name || r.Multistream && l.name == LayoutContent {
			continue
		}
		if r.Date != Latest {
			list, err := l.files(ctx, c, r, r.Date)
			if err == nil || !errors.Is(err, ErrNotFound) {
				return list, err
			}
		}
		dates, err := c.dates(ctx, l, r.Wiki)
		if err != nil {
			return nil, err
		}
		available = append(available, dates...)
		if r.Date != Latest {
			continue
		}
		for _, date := range dates[:min(len(dates), newestTries)] {
			list, err := l.files(ctx, c, r, date)
			if err == nil || !errors.Is(err, ErrNotFound) {
				return list, err
			}
		}
	}
	return nil, &NoDumpError{Wiki: r.Wiki, Date: r.Date, Nearest: nearest(available, r.Date), Available: available}
}

// dates returns the dates of a wiki's dumps in a layout, newest first.
func (c *Client) dates(ctx context.Context, l layout, wiki string) ([]string, error) {
	listing, err := c.get(ctx, l.folder(wiki)+"/", maxListing)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseDates(listing), nil
}

// A NoDumpError reports that a wiki has no complete dump of the requested date.
// It matches [ErrNotFound].
type NoDumpError struct {
	Wiki, Date string
	Nearest    string   // nearest date with a dump, or ""
	Available  []string // all dates with a dump
}

func (e *NoDumpError) Error() string {
	switch {
	case len(e.Available) == 0:
		return fmt.Sprintf("dump of %s: %v: is that the name of a wiki?", e.Wiki, ErrNotFound)
	case e.Date == Latest:
		return fmt.Sprintf("dump of %s: %v: none of the newest dumps is complete (available: %s)", e.Wiki, ErrNotFound, strings.Join(e.Available, ", "))
	}
	return fmt.Sprintf("dump of %s of %s: %v: old dumps are deleted; the nearest is %s@%s (available: %s)", e.Wiki, e.Date, ErrNotFound,
		e.Wiki, e.Nearest, strings.Join(e.Available, ", "))
}

// Unwrap returns [ErrNotFound].
func (e *NoDumpError) Unwrap() error { return ErrNotFound }

// nearest returns the element of dates that is nearest to the wanted date. If two are
// equally near, it returns the later one. It returns "" if dates is empty or wanted is
// not a date.
func nearest(dates []string, wanted string) (best string) {
	want, err := time.Parse(time.DateOnly, wanted)
	if err != nil {
		return ""
	}
	least := time.Duration(-1)
	for _, d := range dates {
		t, err := time.Parse(time.DateOnly, d)
		if err != nil {
			continue
		}
		apart := t.Sub(want).Abs()
		if least < 0 || apart < least || apart == least && d > best {
			best, least = d, apart
		}
	}
	return best
}

// contentFiles lists the files of a content export. The directory
// WIKI/DATE/xml/bzip2/ contains the files, SHA256SUMS and, if the export is
// complete, the empty file _SUCCESS.
func contentFiles(ctx context.Context, c *Client, r Request, date string) (*List, error) {
	folder := contentFolder(r.Wiki) + "/" + date + "/xml/bzip2/"
	if _, err := c.get(ctx, folder+"_SUCCESS", maxSums); err != nil {
		return nil, err
	}
	source := folder + "SHA256SUMS"
	raw, err := c.get(ctx, source, maxSums)
	if err != nil {
		return nil, err
	}
	sums, err := parseSums(raw, "sha256")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	ours := regexp.MustCompile(`^` + regexp.QuoteMeta(r.Wiki+"-"+date) + `(-p\d+p\d+)?\.xml\.bz2$`)
	list := &List{Indices: []Index{indexOf(source, raw)}}
	for name, sum := range sums {
		if ours.MatchString(name) {
			list.Files = append(list.Files, File{Name: name, URL: folder + name, Kind: kindWiki, Checksum: sum, ChecksumSource: source, Licence: wikiLicence})
		}
	}
	if len(list.Files) == 0 {
		return nil, fmt.Errorf("%s: %w: the list of checksums has no file %s-%s-….xml.bz2: try another date", source, ErrCorrupt, r.Wiki, date)
	}
	byPages(list.Files)
	return list, nil
}

// legacyFiles lists the files of an XML dump. The file dumpstatus.json in its
// directory lists the files of each job, with sizes and checksums.
func legacyFiles(ctx context.Context, c *Client, r Request, date string) (*List, error) {
	digits := strings.ReplaceAll(date, "-", "")
	folder := legacyFolder(r.Wiki) + "/" + digits + "/"
	source := folder + "dumpstatus.json"
	raw, err := c.get(ctx, source, maxStatus)
	if err != nil {
		return nil, err
	}
	files, err := parseDumpStatus(raw, r, digits)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	for i := range files {
		f := &files[i]
		f.URL, f.Kind, f.Licence = folder+f.Name, kindWiki, wikiLicence
		if f.Checksum != "" {
			f.ChecksumSource = source
		}
	}
	return &List{Files: files, Indices: []Index{indexOf(source, raw)}}, nil
}
