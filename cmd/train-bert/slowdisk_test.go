package main

import (
	"os"
	"strings"
	"time"

	"pretext/internal/store"
)

// slowVariable is the time that a checkpoint takes in a process that a test starts.
const slowVariable = "PRETEXT_TEST_SLOW_CHECKPOINT"

// checkpointFiles is the number of files of a checkpoint of the tests.
const checkpointFiles = 7

// slowDisk makes the disk slow for checkpoints, if the environment says so: each file
// takes its time to become durable.
func slowDisk() {
	d, err := time.ParseDuration(os.Getenv(slowVariable))
	if err != nil {
		return
	}
	store.Intercept(func(step store.Step, path string) error {
		if step == store.StepSync && strings.Contains(path, "step-0") {
			time.Sleep(d / checkpointFiles)
		}
		return nil
	})
}
