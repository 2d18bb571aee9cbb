package trainer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestThePageOfTrainingHasEverySchedule(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "train.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range schedules {
		if row := fmt.Sprintf("| `%s` | %s |", d.kind, d.doc); !strings.Contains(string(page), "\n"+row+"\n") {
			t.Errorf("docs/train.md has no row %s", row)
		}
	}
}
