package compat

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/consumers"
	"pretext/sharding"
)

// A loader that takes bytes for values of another type gets other numbers without an error.
func TestBytesTakenForAnotherTypeAreAProblem(t *testing.T) {
	raw := columns.AppendLittle(nil, columns.Int32, columns.Value{Ints: []int32{2, 7999, 3, 5, 9}})
	if got, want := largest(raw, columns.Int64), int64(7999)<<32+2; got != want {
		t.Errorf("int32 as int64: got %d, want %d", got, want)
	}
	if got := largest(columns.AppendLittle(nil, columns.Int64, columns.Value{Ints: []int32{70000}}), columns.Uint16); got != 70000-65536 {
		t.Errorf("int64 as uint16: got %d", got)
	}
	if got := largest(columns.AppendLittle(nil, columns.Uint16, columns.Value{Ints: []int32{1, 1}}), columns.Int32); got != 65537 {
		t.Errorf("uint16 as int32: got %d", got)
	}
	wide := columns.Int64
	c := consumers.Consumer{Name: "raw", Format: "mds", Recipes: []string{"pieces"}, Reinterprets: true,
		Fields: []columns.Field{{Name: "input_ids", From: []string{"input_ids"}, Type: &wide}}}
	w := walk{Report: &Report{}, consumer: c, wrong: map[string]columns.Type{}}
	f := folder{name: ".", converted: &sharding.ConvertOptions{Format: "mds", Form: records.Pieces}}
	f.made.Recipe = "pieces"
	if err := w.rules(f); err != nil {
		t.Fatal(err)
	}
	if want := []string{"input_ids int32[any]"}; !slices.Equal(w.Columns, want) {
		t.Errorf("got columns %q, want %q", w.Columns, want)
	}
	w.most = 5
	w.finish()
	want := "input_ids has values of int32, which the loader takes for int64: their number changes, and ids go up to 5"
	if !slices.Contains(w.Problems, want) {
		t.Errorf("got %q, want %q", w.Problems, want)
	}
	c.Reinterprets = false
	same := walk{Report: &Report{}, consumer: c, wrong: map[string]columns.Type{}}
	if err := same.rules(f); err != nil || len(same.wrong) > 0 {
		t.Errorf("a loader that converts types: %v, %v", same.wrong, err)
	}
}

func TestTokensThatALoaderCutsOffAreNotSeen(t *testing.T) {
	w := walk{Report: &Report{Length: 4, CLS: 0, SEP: 0}, consumer: consumers.Consumer{Recipes: []string{"pieces"}}}
	f := folder{cls: 1, sep: 2}
	w.count(&records.Example{InputIDs: []int32{1, 9, 2}}, f)
	w.count(&records.Example{InputIDs: []int32{1, 9, 8, 7, 6, 5, 4, 3, 2}}, f)
	w.count(&records.Example{InputIDs: []int32{9, 8}}, f)
	w.finish()
	if w.Tokens != 14 || w.Seen != 9 || w.CLS != 2 || w.SEP != 2 || w.Shortest != 2 || w.Longest != 9 || w.LeastID != 1 || w.MostID != 9 {
		t.Errorf("got %+v", *w.Report)
	}
	if len(w.Problems) != 1 || !strings.Contains(w.Problems[0], "cuts records at 4 tokens: it sees 64.3 % of the tokens; make the records with --recipe pieces") {
		t.Errorf("got %q", w.Problems)
	}
	w.Length, w.Problems, w.Seen = math.MaxInt, nil, w.Tokens
	if w.finish(); w.Problems != nil || w.Err() != nil {
		t.Errorf("nothing is cut: %q", w.Problems)
	}
}

func TestPaddingThatALoaderAttendsToIsAProblem(t *testing.T) {
	for unmasked, want := range map[bool]int{true: 1, false: 0} {
		w := walk{Report: &Report{CLS: -1, SEP: -1}, consumer: consumers.Consumer{Unmasked: unmasked}}
		w.count(&records.Example{InputIDs: []int32{1, 9, 2, 0}, InputMask: []int32{1, 1, 1, 0}}, folder{})
		if w.finish(); len(w.Problems) != want || want == 1 && !strings.Contains(w.Problems[0], "attends to padding, which is 25.0 % of all positions") {
			t.Errorf("got %q", w.Problems)
		}
	}
}

func TestCompressionAndFoldersOfAnotherLoaderAreProblems(t *testing.T) {
	c := consumers.Consumer{Name: "raw", Format: "parquet", Compression: "none", Recipes: []string{"tokens"}, Splits: map[string]string{"train": "training"}}
	w := walk{Report: &Report{}, consumer: c}
	f := folder{name: "train", converted: &sharding.ConvertOptions{Format: "parquet", Compression: "zstd", Split: "train", Form: records.Tokens}}
	f.made.Recipe = "tokens"
	if err := w.rules(f); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the files have the compression zstd, and the loader opens only files with none", `the split "train", which the loader looks for in "training"`} {
		if !slices.ContainsFunc(w.Problems, func(p string) bool { return strings.Contains(p, want) }) {
			t.Errorf("got %q, want %q", w.Problems, want)
		}
	}
}

func TestFilesWithoutAConversionAreTFRecords(t *testing.T) {
	if got := (folder{}).format(); got != "tfrecord" {
		t.Errorf("got %s", got)
	}
	if got := (folder{converted: &sharding.ConvertOptions{Format: "mds"}}).format(); got != "mds" {
		t.Errorf("got %s", got)
	}
}
