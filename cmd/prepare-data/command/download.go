package command

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/extract/download"
	"pretext/internal/version"
	"pretext/pipeline"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

func newDownload() *cobra.Command {
	var run runFlags
	var target stage.Target
	var get downloadFlags
	cmd := &cobra.Command{
		Use:   "download --wiki NAME --gutenberg LANGUAGE --url URL --out DIR",
		Short: "Stage: raw sources from Wikimedia, Project Gutenberg and URLs",
		Long: `Downloads dumps, books and files to DIR, checks them against the checksums of
their source and writes where they come from and their licences to the manifest.
DIR is then given to --wiki-dump and --books.

  prepare-data download --wiki simplewiki --contact you@example.org --out sources
  prepare-data download --wiki dewiki@2026-08-01 --gutenberg de --gutenberg-limit 200 --out sources
  prepare-data download --url https://example.org/corpus.tar.gz --sha256 9f86d0… --out sources

The same command resumes an interrupted download, also within a file. It keeps
the dump dates chosen by the first call; --overwrite looks for newer dumps.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := run.pipeline(cmd)
			if err != nil {
				return err
			}
			c, err := get.config(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			c.Target = target
			return run.stage(cmd, "download", func() (*sharding.Manifest, error) { return pipeline.Download(cmd.Context(), r, c) })
		},
	}
	run.add(cmd.Flags(), &target, new(float64))
	get.add(cmd.Flags())
	return cmd
}

// downloadFlags are the flags that select what to download and configure the client.
type downloadFlags struct {
	wikis       []string
	layout      string
	multistream bool
	language    string
	ids         []int
	limit       int
	urls        []download.Request

	client  download.Options
	mirrors []string
	limitBy byteSize
}

func (f *downloadFlags) add(fs *pflag.FlagSet) {
	f.client = download.DefaultOptions()
	fs.StringArrayVar(&f.wikis, "wiki", nil, "`NAME` of the wiki whose dump to download: simplewiki, or enwiki@2026-08-01 for the dump of a date; may be repeated")
	fs.StringVar(&f.layout, "wiki-layout", download.LayoutAuto, "kind of dump: content (monthly exports), legacy (XML dumps) or auto: content if the server has one, else legacy")
	fs.BoolVar(&f.multistream, "multistream", false, "download the multistream variant of the dump; only legacy dumps have one")
	fs.StringVar(&f.language, "gutenberg", "", "download the Project Gutenberg books in this language, such as en; all: in every language")
	fs.IntVar(&f.limit, "gutenberg-limit", 0, "maximum number of books, in the order of the catalogue; 0: no limit")
	fs.IntSliceVar(&f.ids, "gutenberg-ids", nil, "`numbers` of the books to download")
	fs.Var(urlList(&f.urls), "url", "file to download; append #sha256=DIGITS to have its checksum verified; may be repeated")
	fs.Var(sumList(&f.urls), "sha256", "SHA-256 checksum of the file of the preceding --url")
	o := &f.client
	fs.StringVar(&o.Contact, "contact", "", "your e-mail address or web page, sent to each server with every request; Wikimedia asks for one")
	fs.StringArrayVar(&f.mirrors, "mirror", nil, "download from a mirror: `SITE=URL`, where SITE is wikimedia or gutenberg")
	fs.StringArrayVar(&o.Hosts, "allow-host", nil, "`host` that redirects may lead to; may be repeated")
	fs.IntVar(&o.Connections, "max-conn", o.Connections, "maximum number of connections to a host, 1 to 3; to a mirror of Project Gutenberg always 1")
	fs.Var(&f.limitBy, "bwlimit", "maximum bytes per second, all connections together, such as 2MB; 0: no limit")
	fs.DurationVar(&o.Stall, "timeout", o.Stall, "close a connection that has sent no data for this long")
	fs.IntVar(&o.Attempts, "attempts", o.Attempts, "give up a file after this number of consecutive attempts without new data")
	fs.DurationVar(&o.BookPause, "book-pause", o.BookPause, "pause between requests to a mirror of Project Gutenberg")
	fs.BoolVar(&o.AllowPrivate, "allow-private", false, "allow mirrors at private network addresses, also over plain http")
	fs.BoolVar(&o.Offline, "offline", false, "open no connection: only check the files already downloaded")
	// Users need not set the wait between attempts; tests shorten it.
	fs.DurationVar(&o.Backoff, "backoff", o.Backoff, "wait after a failed attempt; doubles with each")
	fs.Lookup("backoff").Hidden = true
}

// wanted returns the download configuration, or nil if the flags request no download. It
// is used by commands that can also read local sources.
func (f *downloadFlags) wanted(stderr io.Writer) (*pipeline.DownloadConfig, error) {
	requests, err := f.requests()
	if err != nil || len(requests) == 0 {
		return nil, err
	}
	c, err := f.config(stderr)
	return &c, err
}

// requests returns the downloads that the flags request: wikis, then books, then URLs.
func (f *downloadFlags) requests() ([]download.Request, error) {
	var list []download.Request
	for _, s := range f.wikis {
		r, err := download.ParseWiki(s)
		if err != nil {
			return nil, usagef("--wiki: %w", err)
		}
		r.Layout, r.Multistream = f.layout, f.multistream
		list = append(list, r)
	}
	if f.language != "" || len(f.ids) > 0 {
		r := download.Request{Kind: download.Gutenberg, Language: f.language, IDs: f.ids, Limit: f.limit}
		if r.Language == "all" {
			r.Language = ""
		}
		if len(f.ids) > 0 {
			r.Language = "" // book numbers need no language
		}
		list = append(list, r)
	} else if f.limit != 0 {
		return nil, usagef("--gutenberg-limit without --gutenberg: give a language, or all")
	}
	return append(list, f.urls...), nil
}

// config returns the download configuration of the flags. If a server asks for a contact
// address and --contact is not given, it writes a note to stderr.
func (f *downloadFlags) config(stderr io.Writer) (pipeline.DownloadConfig, error) {
	requests, err := f.requests()
	if err != nil {
		return pipeline.DownloadConfig{}, err
	}
	o := f.client
	o.Product, o.Bandwidth = "pretext-prepare-data/"+strings.Trim(version.String(), "()"), int64(f.limitBy)
	o.MaxBackoff = max(o.Backoff, min(time.Minute, 60*o.Backoff))
	for _, m := range f.mirrors {
		site, base, ok := strings.Cut(m, "=")
		if !ok {
			return pipeline.DownloadConfig{}, usagef("--mirror %q: write wikimedia=URL or gutenberg=URL", m)
		}
		o.Mirrors = append(o.Mirrors, download.Mirror{Site: site, Base: base})
	}
	if o.Contact == "" && !o.Offline && len(f.wikis) > 0 {
		fmt.Fprintln(stderr, "prepare-data: download: note: no --contact: Wikimedia asks programs to name one, and may refuse those that do not")
	}
	return pipeline.DownloadConfig{Requests: requests, Client: o}, nil
}

// urlList returns the value of --url. A URL may end in #sha256=DIGITS, so that a settings
// file can contain the checksum too.
func urlList(to *[]download.Request) *cli.Value {
	return &cli.Value{
		Kind: "url",
		Read: func(s string) error {
			address, sum, _ := strings.Cut(s, "#sha256=")
			*to = append(*to, download.Request{Kind: download.URL, URL: address, SHA256: strings.ToLower(sum)})
			return nil
		},
		Show: func() (urls []string) {
			for _, r := range *to {
				s := r.URL
				if r.SHA256 != "" {
					s += "#sha256=" + r.SHA256
				}
				urls = append(urls, s)
			}
			return urls
		},
	}
}

// sumList returns the value of --sha256: it sets the checksum of the preceding --url.
func sumList(to *[]download.Request) *cli.Value {
	return &cli.Value{Kind: "digits", Show: func() []string { return nil }, Read: func(s string) error {
		n := len(*to)
		if n == 0 || (*to)[n-1].SHA256 != "" {
			return fmt.Errorf("%s: give it directly after the --url whose checksum it is", s)
		}
		(*to)[n-1].SHA256 = strings.ToLower(s)
		return nil
	}}
}
