//go:build cluster

package flink

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"pretext/internal/failure"
)

func TestMain(m *testing.M) {
	if attacked() {
		return
	}
	if IsWorker() {
		dialing, rounds = time.Second, 20*time.Millisecond
		os.Exit(Work(os.Args[1:], Process{Stop: func() {}, Activity: func() Activity { return Activity{Tasks: 7, Running: 1} }}))
	}
	beam.Init()
	os.Exit(m.Run())
}

var errCorrupt = failure.Damaged("corrupt")

// trace is an error of a worker as Flink shows it.
func trace(err error) string {
	r := failure.NewReport(err, "worker on tm1, log /tmp/w.log")
	return "org.apache.flink.runtime.JobException: Recovery is suppressed\n\tat a.B(C.java:1)\nCaused by: java.lang.RuntimeException: Error received from SDK harness: " + r.Text + " " + r.Mark() + "\n\tat x"
}

func isNetwork(err error) bool {
	var n interface{ Network() bool }
	return errors.As(err, &n) && n.Network()
}

func TestAJobIsSubmittedAndFollowedToItsEnd(t *testing.T) {
	w := newWorld(t)
	w.server.run = func(name string) { w.arrives("RUNNING")(name); w.becomes(finished) }
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.server.name != "job1" || w.told() != "" {
		t.Errorf("job %q, notes %q", w.server.name, w.told())
	}
	env := w.server.model.GetComponents().GetEnvironments()
	for _, e := range env {
		if e.GetUrn() != "beam:env:process:v1" || !strings.Contains(string(e.GetPayload()), "/opt/prepare-data") {
			t.Errorf("environment %v", e)
		}
	}
}

func TestARunningJobOfTheSameNameIsFollowed(t *testing.T) {
	w := newWorld(t)
	w.arrives(finished)("job1")   // an earlier one
	w.arrives("RUNNING")("job11") // another's
	w.arrives("RUNNING")("job1")
	w.server.run = func(string) { t.Error("a second job is submitted") }
	w.becomes(finished)
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(w.told(), "already runs this stage, as job id2") {
		t.Errorf("notes %q", w.told())
	}
	if is, err := w.cluster.Live(t.Context(), "job1"); is || err != nil {
		t.Errorf("live %v %v after its end", is, err)
	}
}

func TestALostJobServerIsNotALostJob(t *testing.T) {
	w := newWorld(t)
	w.server.run = func(name string) {
		go func() {
			time.Sleep(20 * time.Millisecond)
			w.server.grpc.Stop()
			time.Sleep(20 * time.Millisecond)
			w.arrives("RUNNING")(name)
			w.becomes(finished)
		}()
	}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(w.told(), "job server was lost") {
		t.Errorf("notes %q", w.told())
	}
}

func TestAJobThatNeverArrivesIsAnErrorOfTheNetwork(t *testing.T) {
	w := newWorld(t)
	w.server.run = func(string) {
		go func() { time.Sleep(20 * time.Millisecond); w.server.grpc.Stop() }()
	}
	if err := w.run(t.Context()); !isNetwork(err) || !strings.Contains(err.Error(), "run the same command again") {
		t.Errorf("got %v", err)
	}
}

func TestTheJobServersOwnFailureIsShown(t *testing.T) {
	w := newWorld(t)
	w.server.failed = "java.util.concurrent.ExecutionException: x\nCaused by: java.net.ConnectException: Connection refused: jobmanager:8081"
	close(w.server.over)
	if err := w.run(t.Context()); err == nil || err.Error() != "the Flink job failed: java.net.ConnectException: Connection refused: jobmanager:8081" {
		t.Errorf("got %v", err)
	}
}

func TestAnErrorOfAWorkerArrivesTyped(t *testing.T) {
	w := newWorld(t)
	w.server.run = w.arrives(failed, "java.lang.Exception: other", trace(errCorrupt))
	err := w.run(t.Context())
	if !errors.Is(err, errCorrupt) || err.Error() != "corrupt (worker on tm1, log /tmp/w.log)" {
		t.Errorf("got %v", err)
	}
}

func TestAPermanentErrorEndsTheJobBeforeFlinkRepeatsIt(t *testing.T) {
	w := newWorld(t)
	w.server.run = w.arrives("RESTARTING", trace(errCorrupt))
	if err := w.run(t.Context()); !errors.Is(err, errCorrupt) {
		t.Errorf("got %v", err)
	}
	if len(w.flink.cancelled) != 1 {
		t.Errorf("cancelled %v", w.flink.cancelled)
	}
}

// Flink may repeat a job before the submitter sees why it failed, or has none.
func TestAnAttemptAfterAPermanentErrorFailsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.arrives("RUNNING", trace(errors.New("flaky")))("job1")
	t.Setenv(restVariable, w.flink.URL)
	t.Setenv(jobVariable, "job1")
	if err := Failed(t.Context()); err != nil {
		t.Errorf("got %v after an error that may pass", err)
	}
	w.flink.jobs[0].exceptions = append(w.flink.jobs[0].exceptions, trace(errCorrupt))
	if err := Failed(t.Context()); !errors.Is(err, errCorrupt) {
		t.Errorf("got %v, want the error of the attempt before", err)
	}
	w.flink.do(func() { w.flink.broken = true })
	if err := Failed(t.Context()); err != nil {
		t.Errorf("got %v without Flink", err)
	}
}

func TestATransientErrorIsNotedOnceAndFlinkRepeatsTheStage(t *testing.T) {
	w := newWorld(t)
	w.server.run = func(name string) { w.arrives("RUNNING", trace(errors.New("flaky")))(name); w.becomes(finished) }
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(w.told(), "flaky"); n != 1 || len(w.flink.cancelled) != 0 {
		t.Errorf("%d notes, cancelled %v: %s", n, w.flink.cancelled, w.told())
	}
}

func TestInterruptCancelsAndWaitsForTheEnd(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.server.run = func(name string) { w.arrives("RUNNING")(name); time.AfterFunc(20*time.Millisecond, cancel) }
	if err := w.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(w.flink.cancelled) == 0 || w.flink.jobs[0].state != canceled {
		t.Error("the job runs on")
	}
}

// The job server had taken the job when the user pressed Ctrl-C, and Flink gets it
// after that.
func TestInterruptCancelsAJobThatArrivesLater(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.server.run = func(name string) {
		go func() {
			time.Sleep(10 * time.Millisecond)
			cancel()
			time.Sleep(30 * time.Millisecond)
			w.arrives("RUNNING")(name)
		}()
	}
	if err := w.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(w.flink.cancelled) == 0 {
		t.Error("the job runs on")
	}
}

func TestAnUnconfirmedEndIsNoted(t *testing.T) {
	w := newWorld(t)
	w.flink.unstoppable = true
	ctx, cancel := context.WithCancel(t.Context())
	w.server.run = func(name string) { w.arrives("RUNNING")(name); time.AfterFunc(20*time.Millisecond, cancel) }
	if err := w.run(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(w.told(), "did not confirm that job id0 ended") {
		t.Errorf("got %v, notes %q", err, w.told())
	}
}

func TestAJobManagerThatComesBackIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.server.run = func(name string) {
		w.arrives("RUNNING")(name)
		go func() {
			time.Sleep(20 * time.Millisecond)
			w.flink.do(func() { w.flink.broken = true })
			time.Sleep(50 * time.Millisecond)
			w.flink.do(func() { w.flink.broken = false; w.flink.jobs[0].state = finished })
		}()
	}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(w.told(), "asking again") {
		t.Errorf("notes %q", w.told())
	}
}

func TestAJobManagerThatStaysAwayLeavesTheStateUnknown(t *testing.T) {
	w := newWorld(t)
	w.server.run = func(name string) {
		w.arrives("RUNNING")(name)
		go func() { time.Sleep(20 * time.Millisecond); w.flink.do(func() { w.flink.broken = true }) }()
	}
	if err := w.run(t.Context()); !errors.Is(err, ErrUnknown) || !isNetwork(err) {
		t.Errorf("got %v", err)
	}
}

func TestAForgottenJobIsToBeRunAgain(t *testing.T) {
	w := newWorld(t)
	w.server.run = func(name string) {
		w.arrives("RUNNING")(name)
		go func() { time.Sleep(20 * time.Millisecond); w.flink.do(func() { w.flink.forgotten = true }) }()
	}
	if err := w.run(t.Context()); err == nil || !strings.Contains(err.Error(), "job id0 is unknown to Flink") {
		t.Errorf("got %v", err)
	}
}

func TestACancelByAnotherIsAnError(t *testing.T) {
	w := newWorld(t)
	w.server.run = w.arrives(canceled)
	if err := w.run(t.Context()); err == nil || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "cancelled by somebody else") {
		t.Errorf("got %v", err)
	}
}

func TestAClusterThatIsNotThereIsAnErrorOfTheNetwork(t *testing.T) {
	w := newWorld(t)
	w.server.grpc.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.run(ctx); !isNetwork(err) || !strings.Contains(err.Error(), "--endpoint") {
		t.Errorf("got %v", err)
	}
	w.cluster.REST = "http://user:secret@127.0.0.1:1"
	if err := w.run(ctx); !isNetwork(err) || !strings.Contains(err.Error(), "--flink-rest") || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestAClusterThatGivesUpEarlyIsNoted(t *testing.T) {
	for _, settings := range []map[string]string{{}, {"restart-strategy.type": "none"}, {"restart-strategy": "disable"}} {
		w := newWorld(t)
		w.flink.settings, w.flink.slots = settings, 1
		w.server.run = w.arrives(finished)
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(w.told(), "no restart strategy") || !strings.Contains(w.told(), "1 task slots, --parallelism asks for 2") {
			t.Errorf("%v: notes %q", settings, w.told())
		}
	}
}

func TestNamesOfJobsSurviveAJobServer(t *testing.T) {
	a, b := JobName("own-stage", "0123456789abcdef0123", "/out"), JobName("own-stage", "0123456789abcdef0123", "/other")
	if a == b || !strings.HasPrefix(a, "pretextown0stage0123456789abcdef") || a != javaName(a) {
		t.Errorf("%s and %s", a, b)
	}
}

func FuzzRootCause(f *testing.F) {
	f.Add("a\nCaused by: b\n\tat c\nCaused by: d\n\tat e")
	f.Fuzz(func(t *testing.T, text string) {
		if c := rootCause(text); strings.Contains(c, "\n") || !strings.Contains(text, c) {
			t.Errorf("%q is no line of the text", c)
		}
	})
}

// A worker that does not answer keeps a job from ending only until all tasks are done.
// Subtasks that still end one after the other are waited for, and so is the manifest.
func TestAJobIsNotHeldByAWorkerThatDoesNotAnswer(t *testing.T) {
	was := held
	held = 100 * time.Millisecond
	t.Cleanup(func() { held = was })
	var done atomic.Bool
	start := func() (*world, chan error) {
		w := newWorld(t)
		w.done, w.flink.running = done.Load, 2
		w.server.run = w.arrives("RUNNING")
		ended := make(chan error, 1)
		go func() { ended <- w.run(t.Context()) }()
		return w, ended
	}
	still := func(ended chan error, what string) {
		t.Helper()
		select {
		case err := <-ended:
			t.Fatalf("the job was ended while %s: %v", what, err)
		case <-time.After(3 * held):
		}
	}
	w, ended := start()
	still(ended, "tasks were open")
	w.flink.do(func() { w.flink.running = 1 })
	done.Store(true)
	if err := <-ended; !errors.Is(err, ErrHeld) || len(w.flink.cancelled) != 1 || !strings.Contains(w.told(), "1 of Flink's subtasks do not end") {
		t.Errorf("got %v, %d jobs cancelled, told %q", err, len(w.flink.cancelled), w.told())
	}
	w, ended = start()
	w.flink.do(func() { w.flink.running = 0 })
	still(ended, "the manifest was written")
	w.flink.do(func() { w.flink.jobs[0].state = finished })
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
