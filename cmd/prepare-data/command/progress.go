package command

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"pretext/pipeline"
)

// progressInterval is the time between two lines where no terminal shows a
// bar.
const progressInterval = 10 * time.Second

// watch returns the function that shows the progress of stages: a bar on a
// terminal, a line an interval elsewhere, nothing where quiet is set.
func watch(stderr io.Writer, quiet bool) func(*pipeline.Meter) (stop func()) {
	if quiet {
		return nil
	}
	if f, ok := stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return func(m *pipeline.Meter) func() { return showBar(stderr, m) }
	}
	return func(m *pipeline.Meter) func() { return showLines(stderr, m) }
}

func showBar(stderr io.Writer, m *pipeline.Meter) func() {
	p := mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(48))
	bar := p.AddBar(m.Total,
		mpb.PrependDecorators(decor.Name(fmt.Sprintf("%-9s", m.Stage))),
		mpb.AppendDecorators(decor.Percentage(), decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO)))
	show := func() { bar.SetCurrent(min(m.Done(), m.Total)) }
	return every(200*time.Millisecond, show, func() {
		show()
		// A bar that is full ends by itself. Any other, of a stage that failed or
		// had nothing to count, has to be ended, or Wait would never return.
		if m.Total <= 0 || m.Done() < m.Total {
			bar.Abort(false)
		}
		p.Wait()
	})
}

func showLines(stderr io.Writer, m *pipeline.Meter) func() {
	start := time.Now()
	line := func() {
		done, elapsed := m.Done(), time.Since(start)
		if done <= 0 || m.Total <= 0 {
			fmt.Fprintf(stderr, "prepare-data: %s: %s\n", m.Stage, elapsed.Round(time.Second))
			return
		}
		share := min(1, float64(done)/float64(m.Total))
		left := time.Duration(float64(elapsed) * (1 - share) / share)
		fmt.Fprintf(stderr, "prepare-data: %s: %.0f%%, %s, about %s left\n", m.Stage, 100*share,
			elapsed.Round(time.Second), left.Round(time.Second))
	}
	return every(progressInterval, line, func() {})
}

// every calls tick at an interval from a goroutine of its own until the
// function that it returns is called, which then calls end.
func every(interval time.Duration, tick, end func()) (stop func()) {
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		t := time.NewTicker(interval)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				tick()
			case <-quit:
				end()
				return
			}
		}
	}()
	return func() { close(quit); <-gone }
}
