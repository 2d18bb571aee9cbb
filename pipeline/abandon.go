package pipeline

import "context"

// abandon returns the result of do, or the error of ctx as soon as that is done; do then
// continues in the background until it ends or the process does. It is for work that takes
// seconds to minutes, cannot look at ctx, and only reads.
func abandon[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
