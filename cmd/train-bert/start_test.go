package main

import (
	"testing"

	"pretext/cmd/internal/clitest"
)

func TestTheProgramStartsWithoutLargeTables(t *testing.T) {
	clitest.CheckInits(t, "train-bert", 100_000)
}
