package store

import (
	"io/fs"
	"sync/atomic"
)

// A Step is a kind of file system operation on a local folder. Each operation can fail, be
// interrupted, or be the last one before a crash. Tests use [Intercept] to simulate this at
// every operation.
type Step string

// The operations, in the order in which they occur to a file. The path passed
// to [Intercept] is the final one, never a temporary name.
const (
	StepLock       Step = "lock"        // lock a folder
	StepOwner      Step = "owner"       // write the owner into the lock file
	StepMkdir      Step = "mkdir"       // create a folder
	StepCreate     Step = "create"      // create a temporary file
	StepWrite      Step = "write"       // write to the file; a simulated failure writes half
	StepTruncate   Step = "truncate"    // truncate a partial file
	StepMode       Step = "mode"        // apply the umask to the file's mode
	StepSync       Step = "sync"        // make the file's content durable
	StepClose      Step = "close"       // close the file
	StepRename     Step = "rename"      // rename the file to its final name
	StepSyncFolder Step = "sync-folder" // make the name durable
	StepDiscard    Step = "discard"     // remove a temporary file or folder
	StepUnname     Step = "unname"      // unlink an open scratch file
	StepTempFolder Step = "temp-folder" // create a temporary folder
	StepRemove     Step = "remove"      // remove a file, or the leftovers of a killed run
	StepUnlock     Step = "unlock"      // remove the lock file
	StepStat       Step = "stat"        // stat a file
	StepOpen       Step = "open"        // open a file
	StepRead       Step = "read"        // read from a file
	StepList       Step = "list"        // list a folder
)

// intercept is the function set by [Intercept], which is called before each operation; nil
// outside tests. It is global because folders are opened deep inside a Beam runner, to which
// a function cannot be passed. Outside tests it costs one atomic load.
var intercept atomic.Pointer[func(Step, string) error]

// Intercept makes this process call the function before at the start of every file
// operation, from any goroutine. If before returns an error, the operation is not done, and
// its caller gets the error as if it came from the system. restore ends the interception.
//
// Intercept is for tests of failures only; internal/dev/archtest checks that.
func Intercept(before func(step Step, path string) error) (restore func()) {
	old := intercept.Swap(&before)
	return func() { intercept.Store(old) }
}

// at calls the intercepting function, if there is one, before an operation.
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
