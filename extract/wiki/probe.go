package wiki

import (
	"context"
	"errors"
	"io"

	"pretext/extract/bzip2"
)

// Limits of [Probe].
const (
	probeWhole  = 64 << 20  // bytes of a dump that is read whole
	probeTiny   = 512 << 10 // the same, if it is compressed
	probePoints = 16        // places of a larger dump at which pages are read
	probeBytes  = 900_000   // of XML read at each place: a block of bzip2
)

// Probe reports whether a dump may have pages of templates; false is certain
// only for small dumps. It reads as little as it can:
//
//   - an uncompressed dump of up to 64 MiB, and any dump of up to 512 KiB, up to
//     the first template;
//   - a compressed dump of up to 64 MiB, and one that can only be read from its
//     beginning, not at all: it may have templates;
//   - of a larger dump the pages in 900 kB of XML at 16 evenly spaced places, up to
//     the first template. A few percent of the pages of Wikimedia's dumps are
//     templates, everywhere in the dump.
//
// It does not report corrupt data, which the reader of the pages will meet.
func Probe(ctx context.Context, d Dump) (bool, error) {
	compressed := d.Head.Compression != CompressionNone
	r := NewReader(d, Range{}, DefaultOptions())
	switch {
	case d.Size <= probeTiny, d.Size <= probeWhole && !compressed:
		return r.probe(ctx, d, Range{0, d.Size}, d.Size<<16)
	case d.Size <= probeWhole, !d.Head.splittable():
		return true, nil
	}
	for i := range int64(probePoints) {
		start := d.Size / probePoints * i
		if found, err := r.probe(ctx, d, Range{start, d.Size}, probeBytes); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// probe reports whether a template is among the pages that begin in the first
// limit bytes of XML of a range.
func (r *Reader) probe(ctx context.Context, d Dump, rng Range, limit int64) (bool, error) {
	r.Reset(d, rng)
	for r.split.owned < limit && ctx.Err() == nil {
		p, err := r.split.next()
		switch {
		case err == io.EOF, errors.Is(err, ErrCorrupt), errors.Is(err, bzip2.ErrTrailing):
			return false, nil
		case err != nil:
			return false, err
		}
		if _, ns, ok := r.namespaceOf(p); ok && ns == templateNamespace {
			return true, nil
		}
	}
	return false, ctx.Err()
}
