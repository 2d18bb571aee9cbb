package pipeline

import (
	"cmp"
	"context"
	"fmt"

	"pretext/extract/wiki"
)

// spooled returns how many bytes of a local dump go to the spool: the size of the dump if
// it is compressed and may contain templates, and otherwise 0.
func spooled(ctx context.Context, path string) (int64, error) {
	f, dump, err := openDump(ctx, path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if dump.Head.Compression == wiki.CompressionNone {
		return 0, nil
	}
	may, err := wiki.Probe(ctx, dump)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	if !may {
		return 0, nil
	}
	return dump.Size, nil
}

// foreseeSpool predicts the size of the spool, the temporary file that stores the pages
// of dumps while template definitions are collected ([ExtractConfig.openSpool]), and adds
// it to the disk space. The spool is removed after documents are extracted, before later
// stages write their files. Compressed dumps to be downloaded are assumed to contain
// templates.
func (p *Plan) foreseeSpool(c PlanConfig) {
	var dumps int64
	for _, s := range p.Sources {
		dumps += s.spooled
	}
	if dumps == 0 || c.Cluster || c.Run.Extract.ExpandTemplates == ExpandOff {
		return
	}
	place := cmp.Or(c.Run.Temp, c.Run.Out)
	free, ok := freeSpace(place)
	if !ok {
		return
	}
	size, room := spoolSpace(dumps)
	if c.Run.Temp == "" {
		free -= p.Disk.Sources // downloads are written first
	}
	switch d := &p.Disk; {
	case free >= room:
		d.Spool = size
		if c.Run.Temp == "" {
			d.Peak = max(d.Peak, d.Sources+d.Documents+size)
		}
	case d.Free < 0 || d.Peak <= d.Free:
		p.Notes = append(p.Notes, fmt.Sprintf("dumps with templates will be decoded twice, which takes longer: to decode them once, %d MB must be free in %s, or in a directory that --temp-dir names", room/1e6, place))
	}
}
