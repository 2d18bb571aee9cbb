package formats_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/formats"
)

// variants returns parts like p in every way that a format has: compressions, types of
// integers, plain columns.
func variants(f columns.Format, p columns.Part) map[string]columns.Part {
	list := map[string]columns.Part{}
	about := f.About()
	for _, compression := range append(about.Compressions, "") {
		for _, kind := range append(about.Ints, columns.Int32) {
			for _, plain := range []bool{false, about.Plain} {
				one := p
				one.Compression, one.Schema = compression, nil
				for _, c := range p.Schema {
					if c.Plain = plain; c.Type != columns.Float32 {
						c.Type = kind
					}
					one.Schema = append(one.Schema, c)
				}
				list[fmt.Sprintf("compression %q, %s, plain %v", compression, kind, plain)] = one
			}
		}
	}
	return list
}

func TestEveryVariantReadsWhatItWrites(t *testing.T) {
	each(t, func(t *testing.T, name string, f columns.Format, form records.Form) {
		list := examplesOf(form, 30, 9, 2)
		sizes := map[string]int{}
		for what, p := range variants(f, part(form, list, 9, 2)) {
			dir, files := write(t, f, form, p, list)
			got, err := read(f, form, p, names(files), dir)
			if err != nil || len(got) != len(list) {
				t.Fatalf("%s: %d rows and the error %v, want %d", what, len(got), err, len(list))
			}
			for i, e := range list {
				if !bytes.Equal(e.AppendForm(nil, form), got[i].AppendForm(nil, form)) {
					t.Fatalf("%s: row %d is %+v, want %+v", what, i, got[i], e)
				}
			}
			for _, b := range dir {
				sizes[what] += b.Len()
			}
			file := names(files)[0]
			dir[file].Truncate(dir[file].Len() - 1)
			if _, err := read(f, form, p, names(files), dir); !errors.Is(err, columns.ErrCorrupt) && name != "webdataset" { // whose end is padding
				t.Errorf("%s without its last byte: error %v, want ErrCorrupt", what, err)
			}
		}
		if all := f.About().Compressions; len(all) > 1 && sizes[`compression "zstd", int64, plain false`] >= sizes[`compression "none", int64, plain false`] {
			t.Errorf("%v: a compression without effect: %v", all, sizes)
		}
	})
}

// A plain column of an MDS file without compression is what a loader reads that knows no
// arrays: a row is the size of each column, then the bytes of the values.
func TestPlainColumnsOfMDS(t *testing.T) {
	f, _ := formats.Get("mds")
	e := &records.Example{InputIDs: []int32{2, 70000, 3, 0}, SequenceLengths: []int32{3}}
	p := part(records.Packed, []*records.Example{e}, 4, 0)
	p.Compression = "none"
	for i := range p.Schema {
		p.Schema[i].Type, p.Schema[i].Plain = columns.Int64, true
	}
	dir, files := write(t, f, records.Packed, p, []*records.Example{e})
	content := dir["train-00003-of-00010.00000.mds"].Bytes()
	row := content[binary.LittleEndian.Uint32(content[4:]):]
	want := []byte{32, 0, 0, 0, 8, 0, 0, 0}
	for _, n := range []uint64{2, 70000, 3, 0, 3} {
		want = binary.LittleEndian.AppendUint64(want, n)
	}
	if !bytes.Equal(row, want) {
		t.Errorf("the row is %v, want %v", row, want)
	}
	info, _ := json.Marshal(files[0].Info)
	for _, has := range []string{`"column_encodings":["bytes","bytes"]`, `"column_sizes":[null,null]`, `"compression":null`, `"zip_data":null`} {
		if !bytes.Contains(info, []byte(has)) {
			t.Errorf("the entry of the index is %s, without %s", info, has)
		}
	}
	// Rows of another length than that of the column are no rows of it.
	longer := p
	longer.Schema = append([]columns.Column{}, p.Schema...)
	longer.Schema[0].Len = 5
	if _, err := read(f, records.Packed, longer, names(files), dir); !errors.Is(err, columns.ErrCorrupt) {
		t.Errorf("error %v, want ErrCorrupt", err)
	}
}
