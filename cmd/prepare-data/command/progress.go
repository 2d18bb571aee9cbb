package command

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"pretext/internal/humanize"
	"pretext/pipeline/stage"
)

// progressInterval is the time between two progress lines, if standard error is not a
// terminal.
const progressInterval = 10 * time.Second

// watch returns a function that shows the progress of a stage: a bar on a terminal,
// otherwise one line per progressInterval, or nothing if quiet is set.
func watch(stderr io.Writer, quiet bool) func(*stage.Meter) (stop func()) {
	if quiet {
		return nil
	}
	show := showLines
	if isTerminal(stderr) {
		show = showBar
	}
	var kept []string // tasks that a resumed run did not repeat, and that are not reported yet
	return func(m *stage.Meter) func() {
		stop := show(stderr, m)
		return func() {
			stop()
			if m.Kept() > 0 {
				kept = append(kept, fmt.Sprintf("%d of %d tasks of %s", m.Kept(), m.Tasks, m.Stage))
			}
			if len(kept) > 0 && m.Kept() != int64(m.Tasks) { // this stage has made something new
				fmt.Fprintf(stderr, "prepare-data: resumed, kept %s\n", strings.Join(kept, ", "))
				kept = nil
			}
		}
	}
}

// barWidth is the maximum width of a bar in columns, chosen for a terminal of 80 columns.
// On a narrower terminal, mpb first shortens the bar, then the text.
const barWidth = 26

func showBar(stderr io.Writer, m *stage.Meter) func() {
	p := mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(barWidth))
	start := time.Now()
	bar := p.AddBar(m.Total,
		mpb.PrependDecorators(decor.Name(fmt.Sprintf("%-10s", m.Stage))),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return progressText(m, time.Since(start)) })))
	show := func() { bar.SetCurrent(min(m.Done(), m.Total)) }
	return every(200*time.Millisecond, show, func() {
		show()
		// A full bar ends by itself. The bar of a stage that failed or had nothing to
		// count must be ended here, otherwise Wait would never return.
		if m.Total <= 0 || m.Done() < m.Total {
			bar.Abort(false)
		}
		p.Wait()
	})
}

func showLines(stderr io.Writer, m *stage.Meter) func() {
	start := time.Now()
	line := func() {
		fmt.Fprintf(stderr, "prepare-data: %s: %s\n", m.Stage, progressText(m, time.Since(start)))
	}
	return every(progressInterval, line, func() {})
}

// progressText returns the progress of a stage, such as
// "45 %, 12.3 MB/s, 1m5s elapsed, 2m3s left". It omits figures that are not known yet.
func progressText(m *stage.Meter, elapsed time.Duration) string {
	elapsed = elapsed.Round(time.Second)
	done := min(m.Done(), m.Total)
	if done <= 0 {
		return fmt.Sprintf("%s elapsed", elapsed)
	}
	text := fmt.Sprintf("%2.0f %%", math.Floor(100*float64(done)/float64(m.Total)))
	if elapsed <= 0 {
		return text
	}
	rate := int64(float64(done) / float64(max(m.Reads, 1)) / elapsed.Seconds())
	speed := humanize.Bytes(rate)
	if m.Unit != "" {
		speed = humanize.Count(rate) + " " + m.Unit
	}
	text += fmt.Sprintf(", %s/s, %s elapsed", speed, elapsed)
	if left := time.Duration(float64(elapsed) * float64(m.Total-done) / float64(done)); done < m.Total {
		text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return text
}

// every starts a goroutine that calls tick at each interval. The returned function
// stops the goroutine and then calls end.
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
