package formats_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pretext/records"
	"pretext/records/columns"
)

// as returns a part whose integers have another type.
func as(kind columns.Type, form records.Form, list []*records.Example) columns.Part {
	p := part(form, list, 8, 2)
	p.Schema = columns.NewTable(columns.Spec{Form: form, Seq: 8, Predictions: 2, Int: kind}).Schema
	return p
}

func TestEveryTypeOfIntegersIsReadAsItIsWritten(t *testing.T) {
	tested := 0
	each(t, func(t *testing.T, name string, f columns.Format, form records.Form) {
		list := examplesOf(form, 40, 8, 2)
		for _, kind := range f.About().Ints {
			p := as(kind, form, list)
			dir, files := write(t, f, form, p, list)
			got, err := read(f, form, p, names(files), dir)
			if err != nil || len(got) != len(list) {
				t.Fatalf("%s: %d rows, %v", kind, len(got), err)
			}
			for i, e := range list {
				if !bytes.Equal(e.AppendForm(nil, form), got[i].AppendForm(nil, form)) {
					t.Fatalf("%s: row %d is %+v, want %+v", kind, i, got[i], e)
				}
			}
			if _, err := read(f, form, as(columns.Int32, form, list), names(files), dir); !errors.Is(err, columns.ErrCorrupt) {
				t.Errorf("%s read as int32: %v, want ErrCorrupt", kind, err)
			}
			tested++
		}
	})
	if tested < 8 {
		t.Errorf("%d types and forms", tested)
	}
}

func TestIntegersThatDoNotFitAreNotWritten(t *testing.T) {
	each(t, func(t *testing.T, name string, f columns.Format, form records.Form) {
		list := examplesOf(form, 1, 8, 2)
		for _, kind := range f.About().Ints {
			for _, id := range []int32{-1, 65536} {
				list[0].InputIDs[0] = id
				w, err := f.NewWriter(as(kind, form, list), folder{}.create)
				if err != nil {
					t.Fatal(err)
				}
				err = w.Write(columns.NewTable(columns.Spec{Form: form}).Row(list[0]))
				if want := fmt.Sprintf("input_ids: value 0 is %d: outside of the range of uint16", id); kind == columns.Uint16 && (err == nil || err.Error() != want) {
					t.Errorf("%s: got %v, want %q", kind, err, want)
				} else if kind == columns.Int64 && err != nil {
					t.Errorf("%s: %v", kind, err)
				}
			}
		}
	})
}
