package command

import (
	"testing"

	"pretext/cmd/internal/clitest"
)

func TestEveryFlagOfALargeCommandHasAHeading(t *testing.T) {
	clitest.CheckGroups(t, NewRoot(), flagGroups)
}
