package main

import (
	"testing"

	"pretext/cmd/internal/clitest"
)

func TestTheProgramStartsWithoutLargeTables(t *testing.T) {
	clitest.CheckInits(t, "prepare-data", 430_000)
}
