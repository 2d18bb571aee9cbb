package sharding

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/extract"
	"pretext/internal/store"
)

func drawBlockList(t *rapid.T) BlockList {
	number := rapid.OneOf(rapid.Int64Range(0, 300_000), rapid.Int64())
	list := BlockList{}
	for range rapid.IntRange(0, 4).Draw(t, "files") {
		f := FileBlocks{Folder: rapid.IntRange(0, 3).Draw(t, "folder"), Blocks: []extract.Block{},
			Name: rapid.OneOf(rapid.String(), rapid.Map(rapid.IntRange(0, 99999), func(n int) string { return fmt.Sprintf("documents-x-%05d.jsonl.zst", n) })).Draw(t, "name")}
		for range rapid.IntRange(0, 3).Draw(t, "blocks") {
			f.Blocks = append(f.Blocks, extract.Block{Offset: number.Draw(t, "offset"), Length: number.Draw(t, "length"), RawLength: number.Draw(t, "raw"), Documents: number.Draw(t, "documents"), TextBytes: number.Draw(t, "text")})
		}
		list = append(list, f)
	}
	return list
}

func TestABlockListIsReadAsItWasWrittenInBothForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawBlockList(t)
		old, err := json.Marshal([]FileBlocks(want))
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range [][]byte{Compact(want), old} {
			var got BlockList
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			if diff := cmp.Diff(want, got); diff != "" && !hasInvalidUTF8(want) {
				t.Fatalf("%s: %s", raw, diff)
			}
		}
	})
}

// hasInvalidUTF8 reports whether the array of objects cannot hold the names.
func hasInvalidUTF8(l BlockList) bool {
	for _, f := range l {
		if strings.ToValidUTF8(f.Name, "") != f.Name {
			return true
		}
	}
	return false
}

// The plan of a shard is written as package json writes it.
func TestAShardsLineIsThatOfPackageJSON(t *testing.T) {
	list := BlockList{{Folder: 1, Name: `documents-<"é">&-00001.jsonl.zst`, Blocks: []extract.Block{{Offset: 3, Length: 1 << 40, RawLength: 2, Documents: 1, TextBytes: 9}}}, {Name: "b"}}
	for _, task := range []ShardTask{{}, {Blocks: BlockList{}}, {Blocks: list}, {Blocks: list, Repeats: []Repeat{{1, list}}}, {Negatives: &Negatives{Blocks: list}}} {
		var want, file bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(task); err != nil {
			t.Fatal(err)
		}
		if _, err := WriteTasks(t.Context(), &file, TaskList{1, func(int) any { return task }}); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(file.Bytes(), want.Bytes()) {
			t.Errorf("%q, want %q", file.Bytes(), want.Bytes())
		}
	}
}

// A text of 4 GiB or more does not fit into the element of the order of units.
func TestALongTextIsDealtByItsSize(t *testing.T) {
	sizes := []int64{math.MaxUint32 + 5, 1, math.MaxUint32, math.MaxUint32 - 1}
	var blocks []extract.Block
	for _, n := range sizes {
		blocks = append(blocks, extract.Block{TextBytes: n})
	}
	a := &Assignment{}
	a.add(unitFile{FileBlocks: FileBlocks{0, "a", blocks}}, 0)
	for _, d := range a.shuffled(1, len(sizes)) {
		if got, want := a.size(d), sizes[d.block]; got != want {
			t.Errorf("block %d has %d bytes of text, want %d", d.block, got, want)
		}
	}
}

// The form is part of the format: it must never change.
func TestAPackedBlockListIsPinned(t *testing.T) {
	block := extract.Block{Offset: 3395, Length: 2049, RawLength: 7043, Documents: 2, TextBytes: 6856}
	list := BlockList{{0, "documents-a-00000.jsonl.zst", []extract.Block{block}}, {1, "documents-a-00012.jsonl.zst", []extract.Block{{}, {Offset: 9}}}}
	const want = `"AAAAG2RvY3VtZW50cy1hLTAwMDAwLmpzb25sLnpzdAGGNYIg9gIEkGsBDwoCMTICAAAAAAASAAAAAA"`
	if got := strings.TrimSpace(string(Compact(list))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Text stands in tables as it is; other programs find it there.
func TestCompactJSONIsALineWithTheTextAsItIs(t *testing.T) {
	if got, want := string(Compact(map[string]string{"title": "a < b & c > d"})), `{"title":"a < b & c > d"}`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzBlockList(f *testing.F) {
	f.Add([]byte(`"AAAAG2RvY3VtZW50cy1hLTAwMDAwLmpzb25sLnpzdAGGNYIg9gIEkGsBDwoCMTICAAAAAAASAAAAAA"`))
	f.Add([]byte(`[{"folder":1,"name":"x","blocks":[{"offset":-1}]}]`))
	f.Add([]byte(`"////////////"`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var list, again BlockList
		if json.Unmarshal(raw, &list) != nil {
			return
		}
		if err := json.Unmarshal(Compact(list), &again); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(Compact(list), Compact(again)) {
			t.Errorf("%s is read again as %s", Compact(list), Compact(again))
		}
	})
}

func TestATaskIsReadFromAFileOfManyTasks(t *testing.T) {
	for _, n := range []int{1, 2, 3000} {
		dir := taskFolder(t, n)
		for _, i := range []int{0, n / 2, n - 1} {
			var got map[string]string
			if err := ReadTask(t.Context(), dir, i, &got); err != nil || got["name"] != taskName(i) {
				t.Errorf("task %d of %d: got %v, %v", i, n, got, err)
			}
		}
		for _, i := range []int{-1, n} {
			if err := ReadTask(t.Context(), dir, i, new(any)); !errors.Is(err, ErrFormat) {
				t.Errorf("task %d of %d: got %v", i, n, err)
			}
		}
	}
}

func taskName(i int) string { return fmt.Sprintf("%*d", i%50, i) }

// taskFolder returns a folder with a file of n tasks of different lengths.
func taskFolder(t testing.TB, n int) store.Folder {
	t.Helper()
	dir, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tasks := TaskList{n, func(i int) any { return map[string]string{"name": taskName(i)} }}
	sum, err := createTasks(t.Context(), dir, tasks)
	if err != nil {
		t.Fatal(err)
	}
	if _, want, err := HashFile(t.Context(), dir.Folder(PlanFolder), TasksName); err != nil || sum != want {
		t.Fatalf("hash %s, %v, want %s", sum, err, want)
	}
	return dir
}

// Whatever is in the file of tasks, a task is read or refused.
func FuzzTaskFile(f *testing.F) {
	dir := taskFolder(f, 3)
	whole, err := store.ReadFile(context.Background(), dir.Folder(PlanFolder), TasksName)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, 0)
	f.Add(whole[:len(whole)-1], 1)
	f.Add(whole[20:], 2)
	f.Add([]byte(strings.Repeat("\xff", 56)+tasksMagic), 7)
	path := filepath.Join(dir.String(), PlanFolder, TasksName)
	f.Fuzz(func(t *testing.T, raw []byte, index int) {
		if err := os.WriteFile(path, raw, 0o666); err != nil {
			t.Fatal(err)
		}
		var task any
		if err := ReadTask(t.Context(), dir, index, &task); err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("got %v, want an error of the format", err)
		}
	})
}

// A block table in any other form than the usual one is read by package json.
func TestABlockTableIsReadInAnyForm(t *testing.T) {
	blocks := []extract.Block{{Offset: 0, Length: 5, RawLength: 6, Documents: 1, TextBytes: 4}, {Offset: 5, Length: 1 << 40, RawLength: 7, Documents: 2, TextBytes: 1}}
	body, err := json.Marshal(DocumentsBody{SourceSHA256: "x", Notes: []string{`a note of "blocks":[`}, Blocks: blocks})
	if err != nil {
		t.Fatal(err)
	}
	usual := string(Compact(SideCar{FormatVersion: FormatVersion, Stage: "extract", Body: body}))
	if rest, got := cutBlockTable([]byte(usual)); !cmp.Equal(got, blocks) || bytes.Contains(rest, []byte("offset")) {
		t.Errorf("the usual form is left to package json: %v", got)
	}
	dir, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{
		usual,
		strings.ReplaceAll(usual, ":", " : "),
		strings.Replace(usual, `"length":5`, `"length":5,"more":0`, 1),
		strings.TrimSuffix(usual, "}\n") + `,"task":3}`,
	} {
		if err := os.WriteFile(filepath.Join(dir.String(), "documents-x-00000.json"), []byte(raw), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := ReadDocumentsBody(t.Context(), dir, "documents-x-00000.jsonl.zst")
		if err != nil || !cmp.Equal(got.Blocks, blocks) || got.SourceSHA256 != "x" || len(got.Notes) != 1 {
			t.Errorf("%s: got %+v, %v", raw, got, err)
		}
		if got, err := readBlocks(t.Context(), dir, "documents-x-00000.jsonl.zst"); err != nil || !cmp.Equal(got, blocks) {
			t.Errorf("%s: got %+v, %v", raw, got, err)
		}
	}
	for _, raw := range []string{
		strings.Replace(usual, `"length":5`, `"length":05`, 1),
		strings.Replace(usual, `"length":5`, `"length":99999999999999999999`, 1),
		strings.Replace(usual, `"length":5`, `"length":""`, 1),
		usual[:len(usual)-3],
		strings.Replace(usual, `"format_version":1`, `"format_version":2`, 1),
	} {
		if err := os.WriteFile(filepath.Join(dir.String(), "documents-x-00000.json"), []byte(raw), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadDocumentsBody(t.Context(), dir, "documents-x-00000.jsonl.zst"); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %v, want an error of the format", raw, err)
		}
		if _, err := readBlocks(t.Context(), dir, "documents-x-00000.jsonl.zst"); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %v, want an error of the format", raw, err)
		}
	}
}

func TestTheBodyOfASideCarIsRead(t *testing.T) {
	folder, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name := ShardName{Split: Train, Count: 1}
	want := ShardBody{Split: Train, RandomSeed: 77}
	body, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for text, sound := range map[string]bool{string(body): true, `{"split":1}`: false, `[]`: false} {
		car := Compact(SideCar{FormatVersion: FormatVersion, Body: json.RawMessage(text)})
		if err := store.WriteFile(t.Context(), folder, name.SideCar(), car); err != nil {
			t.Fatal(err)
		}
		got, err := ReadShardBody(t.Context(), folder, name)
		if sound != (err == nil) || sound && (got.Split != want.Split || got.RandomSeed != want.RandomSeed) || !sound && !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
}
