//go:build cluster

package flink

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"

	"pretext/internal/redact"
)

// failures is true once this worker has logged an error.
var failures atomic.Bool

// quiet discards Beam's log messages until the worker is connected to the TaskManager.
type quiet struct{}

// Log implements Beam's logger.
func (quiet) Log(context.Context, beamlog.Severity, int, string) {}

// A bridge is a [slog.Handler] that writes to the worker's log file and to Beam's log.
// The TaskManager includes Beam's log in its own.
type bridge struct{ attrs string }

func (*bridge) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

// WithAttrs implements [slog.Handler].
func (b *bridge) WithAttrs(attrs []slog.Attr) slog.Handler {
	var text strings.Builder
	text.WriteString(b.attrs)
	for _, a := range attrs {
		fmt.Fprintf(&text, " %s", a)
	}
	return &bridge{text.String()}
}

// WithGroup implements [slog.Handler]; groups are not shown.
func (b *bridge) WithGroup(string) slog.Handler { return b }

// Handle implements [slog.Handler].
func (b *bridge) Handle(ctx context.Context, r slog.Record) error {
	var text strings.Builder
	text.WriteString(r.Message + b.attrs)
	r.Attrs(func(a slog.Attr) bool { fmt.Fprintf(&text, " %s", a); return true })
	line := redact.Text(text.String())
	severity := beamlog.SevInfo
	switch {
	case r.Level >= slog.LevelError:
		failures.Store(true)
		severity = beamlog.SevError
	case r.Level >= slog.LevelWarn:
		severity = beamlog.SevWarn
	}
	beamlog.Output(ctx, severity, 1, line)
	_, err := fmt.Fprintln(os.Stderr, r.Time.UTC().Format(time.RFC3339), r.Level, line)
	return err
}
