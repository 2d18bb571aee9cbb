package books

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pretext/extract"
	"pretext/extract/parallel"
	"pretext/extract/text"
)

// A readout is all that a reader says of a task.
type readout struct {
	Docs     []extract.Document
	Rejected []extract.Rejected
	Stats    Stats
	Err      string
}

// readWith reads one file in a process that may run as many tasks at once as workers says.
func readWith(tb testing.TB, workers int, name, content string, opts Options) readout {
	tb.Helper()
	slots := make(chan struct{}, workers)
	slots <- struct{}{}
	team := parallel.NewTeam(slots)
	defer func() {
		team.End()
		if len(slots) != 1 {
			tb.Errorf("%s: %d slots are taken after the end", name, len(slots))
		}
	}()
	r := NewReader(memory{name: content}, Task{Path: Name(name), Kind: kindFile}, opts)
	r.Share(team)
	var out readout
	r.OnReject(func(e *extract.Rejected) { out.Rejected = append(out.Rejected, *e) })
	docs, err := drain(r)
	out.Docs, out.Stats = docs, r.Stats()
	checkStats(tb, out.Stats, len(docs))
	if err != nil {
		out.Err = err.Error()
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, text.ErrCorrupt) {
			tb.Errorf("%s: got %v, want damage", name, err)
		}
	}
	return out
}

// library returns members of every kind, enough for many batches.
func library(tb testing.TB, n int) (all []member) {
	tb.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	epub := simpleEPUB(tb)
	for i := range n {
		text := func(words int) string {
			var b strings.Builder
			for w := range words {
				b.WriteString([]string{"river ", "sea ", "boat ", "Mr. Smith said. ", "\n", "\n\n", "na\xefve ", "[Illustration: A cat]\n\n"}[rnd.IntN(8)])
				if w%3000 == 2999 {
					fmt.Fprintf(&b, "\n\nCHAPTER %d\n\n", w)
				}
			}
			return b.String()
		}
		m := member{fmt.Sprintf("d%d/book-%03d.txt", i%7, i), ""}
		switch i % 12 {
		case 0:
			m.content = text(20_000)
		case 1:
			m = member{fmt.Sprintf("book-%03d.epub", i), epub}
		case 2:
			m.content = "binary\x00"
		case 3:
			m.content = ""
		case 4:
			m.name = "picture.png"
		case 5:
			m = member{"twice.txt", "The same ID."}
		case 6:
			m = member{strings.Repeat("long/", 300) + "x.txt", "An unusable name."}
		case 7:
			m = member{fmt.Sprintf("broken-%03d.epub", i), epub[:len(epub)-i-1]}
		case 8:
			m.content = strings.Repeat("\xC0\xC1 ", 100)
		default:
			m.content = text(200 + i)
		}
		all = append(all, m)
	}
	return all
}

func TestHelpersDoNotChangeTheBooks(t *testing.T) {
	members := library(t, 60)
	large := member{"large.txt", strings.Repeat("A line of a book that is larger than what is held.\n", (maxHeldBytes+100)/50)}
	members = slices.Insert(members, 30, large)
	tarball := tarOf(t, members...)
	for name, content := range map[string]string{"x.tar": tarball, "x.tar.gz": gzipOf(t, tarball), "x.zip": zipOf(t, members...)} {
		for i, opts := range []Options{{}, {Chapters: true, Lang: "en"}, {LinesPerDocument: 100}, {Encoding: "windows-1251", KeepLines: true, KeepBoilerplate: true}} {
			if i > 0 && name != "x.tar.gz" {
				continue
			}
			want := readWith(t, 1, name, content, opts)
			if len(want.Docs) < 30 || len(want.Rejected) < 15 || want.Err != "" || len(want.Stats.Notes) != maxNotes {
				t.Fatalf("%s, %+v: %d documents, %d rejects, error %q, %d notes: too few to compare", name, opts, len(want.Docs), len(want.Rejected), want.Err, len(want.Stats.Notes))
			}
			for _, workers := range []int{2, 5}[:2-min(i, 1)] {
				if diff := gocmp.Diff(want, readWith(t, workers, name, content, opts)); diff != "" {
					t.Errorf("%s, %+v, %d workers (-want +got):\n%.2000s", name, opts, workers, diff)
				}
			}
		}
	}
}

// The same books in a folder are the same documents.
func TestAnArchiveHasTheBooksOfItsFolder(t *testing.T) {
	store, members := memory{}, library(t, 60)
	for _, m := range members {
		if m.name != "twice.txt" && len(m.name) < 1000 {
			store["in/"+m.name] = m.content
		}
	}
	members = slices.DeleteFunc(members, func(m member) bool { return m.name == "twice.txt" || len(m.name) >= 1000 })
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	members = slices.CompactFunc(members, func(a, b member) bool { return a.name == b.name })
	tasks, err := Plan(store, []string{"in"}, Options{})
	if err != nil || len(tasks) != 1 {
		t.Fatalf("%d tasks, %v", len(tasks), err)
	}
	want, err := drain(NewReader(store, tasks[0], Options{}))
	if err != nil || len(want) < 20 {
		t.Fatalf("%d documents, %v", len(want), err)
	}
	for name, content := range map[string]string{"in": gzipOf(t, tarOf(t, members...)), "in.zip": zipOf(t, members...)} {
		got := readWith(t, 3, name, content, Options{}).Docs
		for i := range got {
			got[i].Source = "in"
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-folder +archive):\n%.2000s", name, diff)
		}
	}
}

func TestHelpersDoNotChangeWhatDamageGives(t *testing.T) {
	members := library(t, 24)
	for i := range members {
		members[i].content = members[i].content[:min(len(members[i].content), 20_000)]
	}
	tarball := tarOf(t, members...)
	rnd := rand.New(rand.NewPCG(3, 4))
	for name, content := range map[string]string{"x.tar": tarball, "x.tgz": gzipOf(t, tarball), "x.zip": zipOf(t, members...)} {
		for i := range 20 {
			b := []byte(content)
			if at := rnd.IntN(len(b)); i%3 == 0 {
				b = b[:at]
			} else {
				b[at] ^= byte(1 << rnd.IntN(8))
			}
			want := readWith(t, 1, name, string(b), Options{})
			for _, workers := range []int{2, 4} {
				if diff := gocmp.Diff(want, readWith(t, workers, name, string(b), Options{})); diff != "" {
					t.Errorf("%s, damage %d, %d workers (-want +got):\n%.2000s", name, i, workers, diff)
				}
			}
		}
	}
}

func TestReadingWithHelpersStopsWhenAsked(t *testing.T) {
	members := library(t, 24)
	for name, content := range map[string]string{"x.tar.gz": gzipOf(t, tarOf(t, members...)), "x.zip": zipOf(t, members...)} {
		for stop := range 4 {
			slots := make(chan struct{}, 3)
			slots <- struct{}{}
			team := parallel.NewTeam(slots)
			r := NewReader(memory{name: content}, Task{Path: Name(name), Kind: kindFile}, Options{})
			r.Share(team)
			n := 0
			for range r.Documents() {
				if n++; n > stop {
					break
				}
			}
			team.End()
			if got := r.Stats().Kept; got != int64(stop+1) || len(slots) != 1 {
				t.Errorf("%s: %d documents counted, %d slots taken after the %d. document", name, got, len(slots), stop+1)
			}
		}
	}
}

// Texts that are much larger than their members must not pile up behind a slow consumer.
func TestResultsThatWaitAreBounded(t *testing.T) {
	const books = 16
	text := strings.Repeat("The sea is calm today.\n", 4<<20/23)
	epub := epubWith(t, xhtml("<p>"+text+"</p>"))
	var plain, epubs []member
	for i := range books {
		plain = append(plain, member{fmt.Sprintf("%d.txt", i), text})
		epubs = append(epubs, member{fmt.Sprintf("%d.epub", i), epub})
	}
	// Packed to a few kB each; of an EPUB the archive does not say how large its text is.
	for name, content := range map[string]string{"x.zip": zipOf(t, plain...), "epubs.tar": tarOf(t, epubs...)} {
		slots := make(chan struct{}, 4)
		slots <- struct{}{}
		team := parallel.NewTeam(slots)
		var docs int
		peak := peakOf(func(sample func()) {
			r := NewReader(memory{name: content}, Task{Path: Name(name), Kind: kindFile}, Options{})
			r.Share(team)
			for doc, err := range r.Documents() {
				if err != nil || len(doc.Text) < 3<<20 {
					t.Fatal(len(doc.Text), err)
				}
				if docs++; docs == 1 {
					for team.Helped() { // until helpers convert nothing more
						time.Sleep(time.Millisecond)
					}
					runtime.GC()
				}
				sample()
			}
		})
		team.End()
		// The texts are 64 MB. Besides maxResults, four goroutines may be converting, with
		// buffers that grew.
		if limit := uint64(56 << 20); docs != books || peak > limit {
			t.Errorf("%s: %d documents, %d bytes held", name, docs, peak)
		} else {
			t.Logf("%s: %d bytes held", name, peak)
		}
	}
}

// setAll sets every number of a struct to its position and every map and list to one entry.
func setAll(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Int64:
			f.SetInt(int64(i + 1))
		case reflect.Map:
			f.Set(reflect.ValueOf(map[extract.Reject]int64{extract.RejectBinary: 7}))
		case reflect.Slice:
			f.Set(reflect.ValueOf([]Note{{"a", "b"}}))
		}
	}
}

func TestNoCountIsForgottenWhenStatsAreAdded(t *testing.T) {
	var part Stats
	setAll(reflect.ValueOf(&part).Elem())
	sum := Stats{Rejects: map[extract.Reject]int64{}}
	sum.add(&part)
	if diff := gocmp.Diff(part, sum); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
