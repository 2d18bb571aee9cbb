package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"pretext/extract/download"
	"pretext/pipeline"
	"pretext/sharding/survey"
	"pretext/sharding/survey/card"
)

// downloadFlagsOf returns the flags that download the same files as a stage. If the stage
// asked for the newest dump, the flag has the date of the dump that it got. Each --url gets
// the SHA-256 of its file.
func downloadFlagsOf(stage survey.Stage) (flags []string) {
	var o pipeline.DownloadOptions
	if json.Unmarshal(stage.Options, &o) != nil {
		return nil
	}
	layouts, multistream := map[string]bool{}, false
	for _, q := range o.Requests {
		switch q.Kind {
		case download.Wiki:
			date, layout := dumpOf(q, stage.Downloads)
			layouts[layout] = true
			flags = append(flags, "--wiki "+card.ShellWord(q.Wiki+date))
			multistream = multistream || q.Multistream
		case download.Gutenberg:
			books := "--gutenberg " + cmp.Or(q.Language, "all")
			if len(q.IDs) > 0 {
				books = "--gutenberg-ids " + strings.Trim(strings.ReplaceAll(fmt.Sprint(q.IDs), " ", ","), "[]")
			}
			if flags = append(flags, books); q.Limit > 0 {
				flags = append(flags, fmt.Sprintf("--gutenberg-limit %d", q.Limit))
			}
		case download.URL:
			sum := q.SHA256
			for _, d := range stage.Downloads {
				if d.URL == q.URL && d.URLSHA256 == q.URLSHA256 {
					sum = cmp.Or(sum, d.SHA256)
				}
			}
			flags = append(flags, "--url "+card.ShellWord(q.URL+"#sha256="+sum))
		}
	}
	if len(layouts) == 1 { // the flag applies to all wikis
		for layout := range layouts {
			if layout != download.LayoutAuto {
				flags = append(flags, "--set wiki-layout="+layout)
			}
		}
	}
	if multistream {
		flags = append(flags, "--set multistream")
	}
	return flags
}

var dumpDate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z][a-z0-9_]*-([0-9]{4})-?([0-9]{2})-?([0-9]{2})-`)
})

// dumpOf returns the date, such as "@2026-08-01", and the layout of the dump that was
// downloaded for a request.
func dumpOf(q download.Request, downloads []survey.Download) (date, layout string) {
	layout = q.Layout
	if q.Date != download.Latest {
		date = "@" + q.Date
	}
	for _, d := range downloads {
		m := dumpDate().FindStringSubmatch(d.Name)
		if m == nil || !strings.HasPrefix(d.Name, q.Wiki+"-") {
			continue
		}
		date = "@" + strings.Join(m[1:], "-")
		if layout == download.LayoutAuto {
			layout = download.LayoutLegacy
			if strings.Contains(d.URL, "/mediawiki_content_") {
				layout = download.LayoutContent
			}
		}
		break
	}
	return date, layout
}
