#!/usr/bin/env bash
# Every path flag of both programs with a pipe, devices, a socket, links, folders, files of
# a data set and of a user. go test takes one command line of sixteen.
# reads: test:cmd/internal/pathflags
set -euo pipefail
PRETEXT_FULL=1 go test -count=1 -timeout 10m ./cmd/internal/pathflags
