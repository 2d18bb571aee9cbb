package stage

// TaskFn is the DoFn that attacks on Prism submit.
type TaskFn = taskFn

// WithoutGuard disables the guard, for tests that show the attacks that it
// prevents.
func WithoutGuard() { installGuard = func() error { return nil } }
