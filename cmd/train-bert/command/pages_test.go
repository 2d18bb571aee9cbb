package command

import (
	"testing"

	"pretext/cmd/internal/clitest"
)

func TestTheCommandsOfThePagesExist(t *testing.T) {
	clitest.CheckPages(t, "../../..", NewRoot())
}
