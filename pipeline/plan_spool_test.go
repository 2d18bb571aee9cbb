package pipeline

import (
	"strings"
	"testing"

	"pretext/extract/download"
	"pretext/sharding"
)

// The spool of a plan follows the rules of openSpool: it is there if the disk has
// room for it, and it is gone before the shards are written.
func TestAPlanHasTheTemporaryFileOfTheExpansion(t *testing.T) {
	const small, large = 1 << 20, 600 << 20
	out := t.TempDir()
	plan := func(bytes int64, change func(*PlanConfig)) *Plan {
		c := PlanConfig{Run: RunConfig{Examples: sharding.DefaultExamplesOptions()}}
		c.Run.Out = out
		p := &Plan{Sources: []PlannedSource{{Kind: KindWiki, spooled: bytes}}}
		p.Disk = PlannedDisk{Documents: 5, Peak: 10, Free: -1}
		if change != nil {
			change(&c)
		}
		p.foreseeSpool(c)
		return p
	}
	if p := plan(small, nil); p.Disk.Spool != 4*small || p.Disk.Peak != 5+4*small {
		t.Errorf("got %+v, want a spool of four bytes for each of the dump", p.Disk)
	}
	if p := plan(small, func(c *PlanConfig) { c.Run.Temp = out }); p.Disk.Spool != 4*small || p.Disk.Peak != 10 {
		t.Errorf("got %+v, want a spool that is not below the directory of the run", p.Disk)
	}
	for what, change := range map[string]func(*PlanConfig){
		"on a cluster": func(c *PlanConfig) { c.Cluster = true }, "without expansion": func(c *PlanConfig) { c.Run.Extract.ExpandTemplates = ExpandOff },
		"in object storage": func(c *PlanConfig) { c.Run.Out = "s3://bucket/out" },
	} {
		if p := plan(small, change); p.Disk.Spool != 0 || p.Disk.Peak != 10 || p.Notes != nil {
			t.Errorf("%s: got %+v, notes %q, want no spool", what, p.Disk, p.Notes)
		}
	}
	if p := plan(1<<60, nil); p.Disk.Spool != 0 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "decoded twice") {
		t.Errorf("got %+v, notes %q, want a note instead of a spool that the disk has no room for", p.Disk, p.Notes)
	}
	if size, room := spoolSpace(large); size != int64(1.8*large) || room != 4*large {
		t.Errorf("got a spool of %d bytes in %d, want a compressed one", size, room)
	}
}

func TestACompressedDumpThatIsDownloadedHasATemporaryFile(t *testing.T) {
	for name, want := range map[string]int64{"frwiki-latest-pages-articles.xml.bz2": 7, "dump.xml.gz": 7, "dump.xml": 0} {
		s := PlannedSource{Kind: KindWiki, Bytes: 7}
		if s.expect(name); s.spooled != want {
			t.Errorf("%s: got %d bytes, want %d", name, s.spooled, want)
		}
	}
	s := typicalSource(download.Request{Kind: download.Gutenberg}, TypicalSize{Bytes: 7e6})
	if s.spooled != 0 {
		t.Errorf("books: got %d bytes, want none", s.spooled)
	}
}
