package recognize

import (
	"context"
	"strings"

	"pretext/internal/failure"
)

// Cures maps the kind of a wrong file to advice for the user who gave it. PATH in the
// advice stands for the given path.
type Cures map[Kind]string

// With returns the cures in c and more. For a kind in both it uses the one in more.
func (c Cures) With(more Cures) Cures {
	all := Cures{}
	for _, m := range []Cures{c, more} {
		for kind, cure := range m {
			all[kind] = cure
		}
	}
	return all
}

// Check returns a usage error with advice if c has the kind of the file or directory at
// path; otherwise nil.
func (c Cures) Check(ctx context.Context, path string) error { return c.For(path, Path(ctx, path)) }

// For is like [Cures.Check], for a kind that the caller has determined.
func (c Cures) For(path string, kind Kind) error {
	cure, ok := c[kind]
	if !ok {
		return nil
	}
	return failure.Usagef("%s is %s: %s", path, kind, strings.ReplaceAll(cure, "PATH", path))
}

// Each returns cures with the same advice for all kinds.
func Each(cure string, kinds ...Kind) Cures {
	c := Cures{}
	for _, k := range kinds {
		c[k] = cure
	}
	return c
}
