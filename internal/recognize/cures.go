package recognize

import (
	"context"
	"strings"

	"pretext/internal/failure"
)

// Cures maps kinds to what a user should do who gave one where something else is wanted.
// PATH in a cure stands for what was given.
type Cures map[Kind]string

// With returns the cures of both; those of more win.
func (c Cures) With(more Cures) Cures {
	all := Cures{}
	for _, m := range []Cures{c, more} {
		for kind, cure := range m {
			all[kind] = cure
		}
	}
	return all
}

// Check returns a usage error that names the cure if there is something of one of the
// kinds at path.
func (c Cures) Check(ctx context.Context, path string) error { return c.For(path, Path(ctx, path)) }

// For is [Cures.Check] for a kind that is known.
func (c Cures) For(path string, kind Kind) error {
	cure, ok := c[kind]
	if !ok {
		return nil
	}
	return failure.Usagef("%s is %s: %s", path, kind, strings.ReplaceAll(cure, "PATH", path))
}

// Each returns the cure for all of kinds.
func Each(cure string, kinds ...Kind) Cures {
	c := Cures{}
	for _, k := range kinds {
		c[k] = cure
	}
	return c
}
