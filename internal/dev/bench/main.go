// Command bench measures the stages of the data path and other tools that do
// the same work:
//
//	go run ./internal/dev/bench -binary bin/prepare-data          # what make bench does
//	go run ./internal/dev/bench -peers .venv-peers/bin/python     # what make bench-peers does
//	go run ./internal/dev/bench -against OTHER/prepare-data       # what make bench-against does
//	go run ./internal/dev/bench -limits                           # what is serial in a run, and the bounds of its parts
//	go run ./internal/dev/bench -scaling 2                        # one worker and two, by the clock
//
// A run consists of rounds. Each round does every piece of work once, one after
// the other, so that a temporary slowdown of the machine affects all of them.
// The measure is CPU time (user and system, of all threads and child
// processes), because wall time on a shared machine is unreliable; a speed is
// in bytes for each second of CPU time. Ratios are computed within a round. The
// report shows the median of the rounds, the minimum and the maximum.
//
// The baseline is bzip2 -dc on the same dump: ratios to a common tool can be
// compared between machines, MB/s cannot. MB is 10^6 bytes.
//
// Before the speeds of two tools are compared, their outputs are compared; the
// report has the result.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"pretext/internal/dev/realdata"
)

// options are the command line flags.
type options struct {
	dump, books, vocab string
	languages          []string // paths of dumps in languages other than English
	binary             string   // path of prepare-data
	rounds             int
	json               bool
	python             string // Python interpreter with the peers installed; "" to leave them out
	only               *regexp.Regexp
	page               string // file in which the table of results is replaced
	against            string // path of another prepare-data, whose whole run is compared
	limits             bool
	scaling            int      // number of workers that are compared with one; 0: none
	registers          int      // steps of arithmetic beside it; 0: registersSteps
	runFlags           []string // of prepare-data run, for both programs
	nowFlags           []string // of prepare-data run, for binary alone
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "pretext-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.scaling != 0 {
		return writeScaling(ctx, o, dir, stdout, stderr)
	}
	if o.limits {
		if err := writeLimits(ctx, o, dir, stdout, stderr); err != nil {
			return err
		}
		return writeBounds(ctx, o, dir, stdout, stderr)
	}
	if o.against != "" {
		c, err := compare(ctx, o, dir, stderr)
		if err != nil {
			return err
		}
		if err := c.write(stdout, o.json); err != nil {
			return err
		}
		return c.err()
	}
	fmt.Fprintln(stderr, "reading", o.dump, "and", o.books)
	works, pairs, err := list(ctx, o, dir)
	if err != nil {
		return err
	}
	rep := report{Machine: describe(), Inputs: inputs(o), Pairs: pairs, peers: o.python != ""}
	rep.Started = time.Now().UTC()
	if o.json {
		err = rep.measure(ctx, works, o.rounds, stderr, func(int) error { return nil })
	} else {
		err = rep.writeRows(ctx, works, o.rounds, stdout, stderr)
	}
	if err != nil {
		return err
	}
	if o.page != "" {
		if err := rep.writePage(o.page); err != nil {
			return err
		}
	}
	if o.json {
		return writeJSON(stdout, rep)
	}
	return nil
}

// list returns the works to measure, and the pairs of works to compare.
func list(ctx context.Context, o options, dir string) (works []*work, pairs []pair, err error) {
	c, err := readCorpus(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	works = append(works, yardstick(o.dump, c.xmlBytes))
	if o.python == "" {
		works = append(works, c.stages()...)
		works = append(works, wholeRun(o, dir)...)
	} else {
		peers, compared, err := c.peers(o, dir)
		if err != nil {
			return nil, nil, err
		}
		works, pairs = append(works, peers...), compared
	}
	if o.only != nil {
		works, pairs = filter(works, pairs, o.only)
	}
	return works, pairs, nil
}

// Inputs if none are given, below the root of the test data.
const (
	smallDump = "wiki/enwiki-small-pages-articles.xml.bz2"
	someBooks = "books/books-txt.tar.gz"
	bertVocab = "vocab/bert-base-uncased-vocab.txt"
)

func parse(args []string, stderr io.Writer) (o options, err error) {
	root, noRoot := realdata.Find()
	data := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.dump, "dump", data(smallDump), "MediaWiki dump, .xml.bz2")
	fs.StringVar(&o.books, "books", data(someBooks), "books: folder, .tar.gz, .zip")
	fs.StringVar(&o.vocab, "vocab", data(bertVocab), "vocab.txt, uncased")
	fs.Func("languages", "dump whose text is tokenized beside the English sentences; may be repeated, \"\" for none", func(path string) error {
		o.languages = append(o.languages, path)
		return nil
	})
	fs.StringVar(&o.binary, "binary", "bin/prepare-data", "program whose whole run is measured; \"\": none")
	fs.IntVar(&o.rounds, "rounds", 3, "number of rounds")
	fs.BoolVar(&o.json, "json", false, "write the result as JSON, with every sample")
	fs.StringVar(&o.python, "peers", "", "Python interpreter with the peers installed: compare with them")
	fs.StringVar(&o.page, "write", "", "Markdown file whose table between the bench marks is replaced")
	fs.StringVar(&o.against, "against", "", "another prepare-data: compare the whole run of both")
	fs.BoolVar(&o.limits, "limits", false, "run with one worker: the serial part, the time with infinitely many workers, and the parts beside their bounds on this machine")
	fs.IntVar(&o.scaling, "scaling", 0, "run with one worker and with this many in turns, by the clock; the machine must be idle")
	runFlags := fs.String("run-flags", "", "with -against, -limits or -scaling: flags of prepare-data run; with -against \"--shards 8\" if none are given")
	nowFlags := fs.String("now-flags", "", "with -against: flags of prepare-data run, for -binary alone")
	only := fs.String("only", "", "measure only works whose names match this regular expression")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if noRoot != nil && (o.dump == data(smallDump) || o.books == data(someBooks) || o.vocab == data(bertVocab) || o.languages == nil) {
		return o, fmt.Errorf("no input: %w: run bench in a checkout, or give -dump, -books, -vocab and -languages", noRoot)
	}
	if o.languages == nil {
		for _, name := range languageDumps {
			o.languages = append(o.languages, data("wiki/"+name+".xml.bz2"))
		}
	}
	o.languages = slices.DeleteFunc(o.languages, func(path string) bool { return path == "" })
	if fs.NArg() > 0 || o.rounds < 1 {
		return o, fmt.Errorf("arguments %q, rounds %d: want no arguments and at least one round", fs.Args(), o.rounds)
	}
	o.runFlags, o.nowFlags = strings.Fields(*runFlags), strings.Fields(*nowFlags)
	if *only != "" {
		if o.only, err = regexp.Compile(*only); err != nil {
			return o, err
		}
	}
	return o, nil
}

func inputs(o options) (names []string) {
	for _, path := range []string{o.dump, o.books, o.vocab} {
		size := int64(0)
		if info, err := os.Stat(path); err == nil {
			size = info.Size()
		}
		names = append(names, fmt.Sprintf("%s (%d bytes)", filepath.Base(path), size))
	}
	return names
}

// filter returns the works whose names match only, the baseline, and the pairs
// whose names match with the works that they need.
func filter(works []*work, pairs []pair, only *regexp.Regexp) (kept []*work, compared []pair) {
	need := map[string]bool{works[0].name: true}
	for _, p := range pairs {
		if only.MatchString(p.Ours) || only.MatchString(p.Peer) {
			compared = append(compared, p)
			need[p.Ours], need[p.Peer] = true, true
		}
	}
	for _, w := range works {
		if need[w.name] || only.MatchString(w.name) {
			kept = append(kept, w)
		}
	}
	return kept, compared
}
