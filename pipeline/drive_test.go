package pipeline

import (
	"path/filepath"
	"slices"
	"testing"

	"pretext/pipeline/stage"
)

// A book of a gigabyte after a thousand ranges of a dump would otherwise be read
// by one worker alone.
func TestTheLargestTaskOfSeveralSourcesBeginsFirst(t *testing.T) {
	dir := t.TempDir()
	plan, err := planSources(t.Context(), ExtractConfig{Sources: []Source{
		{kindText, writeFile(t, dir, "small.txt", []byte("A line.\n"))},
		{KindWiki, writeFile(t, dir, "test.xml", dump(50))},
		{KindBooks, filepath.Dir(writeFile(t, dir, "books/book.txt", make([]byte, 1<<20)))},
	}}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	sizes := plan.sizes()
	order := stage.Config{Tasks: stage.Tasks(plan.tasks), Sizes: sizes}.Order()
	if len(order) != 3 || !slices.IsSortedFunc(order, func(a, b int) int { return int(sizes[b] - sizes[a]) }) || sizes[order[0]] != 1<<20 || sizes[order[2]] != 8 {
		t.Errorf("tasks of %d bytes begin in the order %v, want the largest first", sizes, order)
	}
	if order := (stage.Config{Tasks: stage.Tasks(plan.tasks)}).Order(); !slices.Equal(order, []int{0, 1, 2}) {
		t.Errorf("tasks without sizes begin in the order %v", order)
	}
}
