package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"

	"pretext/internal/failure"
	"pretext/records"
	"pretext/records/columns"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/sharding/examples"
)

// A comparison compares the records of a file or converted shard with the same records
// made again.
type comparison struct {
	findings
	stage *sharding.Stage
	form  records.Form
	name  sharding.ShardName
	part  examples.Part
	here  bool // the shard exists in the folder
}

func (c *remaking) newComparison(name sharding.ShardName) *comparison {
	part, ok := c.parts[name.String()]
	part.Count = -1 // the comparison itself reports a wrong number of records
	return &comparison{findings: findings{most: c.report.most}, stage: c.stage, form: c.made.Form(), name: name, part: part, here: ok}
}

// run compares the shard with the records in in, which were made again. It reads in to
// the end.
func (c *comparison) run(ctx context.Context, in io.Reader) error {
	if !c.here {
		c.add(sharding.Problem{File: c.stage.Path(sharding.ManifestName), Reason: fmt.Sprintf("has no shard %s, which its documents give", c.name)})
		_, err := io.Copy(io.Discard, in)
		return err
	}
	next, stop := iter.Pull2(c.part.Records(ctx))
	defer stop()
	want := tfrecord.NewReader(in, tfrecord.ReaderOptions{})
	ended := false
	for n := int64(0); ; n++ {
		payload, err := want.Next()
		if err == io.EOF && !ended {
			return c.rest(next, n)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if ended {
			continue
		}
		r, err, ok := next()
		switch {
		case !ok:
			ended = true
			c.fault(examples.Record{Index: n, Offset: -1}, "missing, its documents give more records")
		case isDamage(err):
			ended = true // already reported by the check of the file
		case err != nil:
			return err
		case !bytes.Equal(r.Payload, payload):
			c.fault(r, "not what its documents give: "+difference(c.form, r.Payload, payload))
		}
	}
}

// rest reports a problem if the file has more than n records, the number made again.
func (c *comparison) rest(next func() (examples.Record, error, bool), n int64) error {
	r, err, ok := next()
	if ok && err == nil {
		c.fault(r, fmt.Sprintf("its documents give %d records", n))
	}
	if isDamage(err) {
		return nil
	}
	return err
}

// fault adds a problem with a record.
func (c *comparison) fault(r examples.Record, reason string) {
	p := sharding.Problem{File: c.part.Path, Record: &r.Index, Reason: fmt.Sprintf("record %d: %s", r.Index, reason)}
	if r.Offset >= 0 {
		p.Offset, p.Reason = r.Offset, fmt.Sprintf("record %d at byte %d: %s", r.Index, r.Offset, reason)
	}
	c.add(p)
}

// isDamage reports whether err is due to corrupt data or a missing file. Such errors are
// already reported by the check of every file.
func isDamage(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || failure.IsDamaged(err)
}

// difference describes how the record is differs from the record should.
func difference(form records.Form, is, should []byte) string {
	var a, b records.Example
	if err := errors.Join(a.DecodeForm(form, is), b.DecodeForm(form, should)); err != nil {
		return err.Error()
	}
	first, more := "", -1
	table := columns.NewTable(columns.Spec{Form: form})
	got, want := slices.Clone(table.Row(&a)), table.Row(&b)
	for i, column := range table.Schema {
		if g, w := length(got[i]), length(want[i]); g != w {
			return fmt.Sprintf("%s has %d values, should have %d", column.Name, g, w)
		}
		for at := range length(want[i]) {
			g, w := value(got[i], at), value(want[i], at)
			if g == w {
				continue
			}
			if more++; more == 0 {
				first = fmt.Sprintf("%s[%d] is %g, should be %g", column.Name, at, g, w)
			}
		}
	}
	switch {
	case first == "":
		return "its values are encoded in another way"
	case more > 0:
		return fmt.Sprintf("%s (and %d more values)", first, more)
	}
	return first
}

func length(v columns.Value) int { return len(v.Ints) + len(v.Floats) }

// value returns the value with index i of a column. float64 is exact for all ids.
func value(v columns.Value, i int) float64 {
	if v.Floats != nil {
		return float64(v.Floats[i])
	}
	return float64(v.Ints[i])
}

// sideCar compares the counts in a records file's side-car with those made again. Only
// this check finds wrong counts of documents.
func (c *comparison) sideCar(ctx context.Context, made *sharding.ShardWriter) error {
	if _, converted := c.part.Options(); converted || !c.here {
		return nil
	}
	car, err := sharding.ReadSideCar(ctx, c.stage, c.name.SideCar())
	if isDamage(err) {
		return nil
	}
	if err != nil {
		return err
	}
	want := made.SideCar(sharding.FileEntry{}, sharding.FileEntry{}).File.Counts
	for k, n := range car.File.Counts.All() {
		if n != want[k] {
			c.add(sharding.Problem{File: c.stage.Path(c.name.SideCar()), Reason: fmt.Sprintf("%s is %d, its documents give %d", k, n, want[k])})
		}
	}
	return nil
}
