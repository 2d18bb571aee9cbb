package wiki

import (
	"context"
	"errors"
	"io"

	"pretext/extract/bzip2"
)

// Limits of [Probe].
const (
	probeWhole  = 64 << 20  // uncompressed dumps up to this many bytes are read whole
	probeTiny   = 512 << 10 // the same limit for compressed dumps
	probePoints = 16        // number of places at which a larger dump is read
	probeBytes  = 900_000   // bytes of XML read at each place: a bzip2 block
)

// Probe reports whether a dump may have pages of templates; false is certain
// only for small dumps. It reads as little as it can:
//
//   - An uncompressed dump of up to 64 MiB, and any dump of up to 512 KiB, is read
//     up to the first template.
//   - A compressed dump of up to 64 MiB, and a dump that can only be read from its
//     beginning, is not read. The result is true.
//   - Of a larger dump, the pages in 900 kB of XML at 16 evenly spaced places are
//     read, up to the first template. A few percent of the pages of Wikimedia's dumps
//     are templates, everywhere in the dump.
//
// It does not report corrupt data: a later Reader will.
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

// probe reports whether any page that begins in the first limit bytes of XML of a range
// is a template.
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
		if _, ns, ok := r.namespaceOf(p); ok && (ns == templateNamespace || ns == moduleNamespace) {
			return true, nil
		}
	}
	return false, ctx.Err()
}
