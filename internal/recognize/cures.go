package recognize

import (
	"context"
	"strings"

	"pretext/internal/failure"
)

// Cures maps kinds of files to advice for users who gave such a file where another
// was expected. PATH in the advice stands for the given path.
type Cures map[Kind]string

// With returns the cures of both. If both have a kind, that of more is used.
func (c Cures) With(more Cures) Cures {
	all := Cures{}
	for _, m := range []Cures{c, more} {
		for kind, cure := range m {
			all[kind] = cure
		}
	}
	return all
}

// Check returns a usage error with the cure if the file or directory at path is of
// one of the kinds.
func (c Cures) Check(ctx context.Context, path string) error { return c.For(path, Path(ctx, path)) }

// For is [Cures.Check] for a kind that the caller has determined.
func (c Cures) For(path string, kind Kind) error {
	cure, ok := c[kind]
	if !ok {
		return nil
	}
	return failure.Usagef("%s is %s: %s", path, kind, strings.ReplaceAll(cure, "PATH", path))
}

// Each returns cures that give the same advice for all of kinds.
func Each(cure string, kinds ...Kind) Cures {
	c := Cures{}
	for _, k := range kinds {
		c[k] = cure
	}
	return c
}
