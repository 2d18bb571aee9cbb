package metrics_test

import (
	"fmt"

	"pretext/internal/metrics"
)

func ExampleText() {
	var t metrics.Text
	t.Gauge("tasks", "Tasks of a stage.", metrics.Value{Labels: []string{"stage", "extract"}, V: 12})
	fmt.Print(t.String())
	// Output:
	// # HELP tasks Tasks of a stage.
	// # TYPE tasks gauge
	// tasks{stage="extract"} 12
}
