package store

import (
	"io/fs"
	"sync/atomic"
)

// A Step is a kind of call to the system on a file's way into or out of a local
// folder. Each is a point at which a disk, a person or a cable may end a run;
// tests stand on every one of them with [Intercept].
type Step string

// The steps, in the order in which a file meets them. The path that goes with
// one is that of the file under construction, never a temporary name.
const (
	StepLock       Step = "lock"        // open and take the lock of a folder
	StepOwner      Step = "owner"       // write into the lock who holds it
	StepMkdir      Step = "mkdir"       // make a folder
	StepCreate     Step = "create"      // create a temporary file
	StepWrite      Step = "write"       // write to it: half of the bytes are written when this fails
	StepTruncate   Step = "truncate"    // drop the end of a partial file
	StepMode       Step = "mode"        // give it the mode that the umask leaves
	StepSync       Step = "sync"        // make its bytes durable
	StepClose      Step = "close"       // close it
	StepRename     Step = "rename"      // give it its name
	StepSyncFolder Step = "sync-folder" // make the name durable
	StepDiscard    Step = "discard"     // remove a temporary file or folder
	StepUnname     Step = "unname"      // take the name of a scratch file
	StepTempFolder Step = "temp-folder" // make a temporary folder
	StepRemove     Step = "remove"      // remove a file, or what a killed run left
	StepUnlock     Step = "unlock"      // remove the lock
	StepStat       Step = "stat"        // look at a file
	StepOpen       Step = "open"        // open it
	StepRead       Step = "read"        // read from it
	StepList       Step = "list"        // read a folder
)

// intercept is what [Intercept] has set. It is a variable of the process since
// folders are opened by their location, deep inside a runner that gives no way
// to hand anything down; without a test it stays nil and costs one load.
var intercept atomic.Pointer[func(Step, string) error]

// Intercept has before called ahead of every step in this process, from any
// goroutine: the step does not happen when it returns an error, which the
// caller gets as that of the system. It returns the function that ends this.
//
// It is for tests of what happens when a step fails, and internal/archtest
// holds that nothing else calls it.
func Intercept(before func(step Step, path string) error) (restore func()) {
	old := intercept.Swap(&before)
	return func() { intercept.Store(old) }
}

// at stands before a step.
func at(step Step, path string) error {
	before := intercept.Load()
	if before == nil {
		return nil
	}
	if err := (*before)(step, path); err != nil {
		return &fs.PathError{Op: string(step), Path: path, Err: err}
	}
	return nil
}
