#!/usr/bin/env bash
# What a plain build leaves out: tests of the code behind the build tag cluster.
# reads: test:pipeline/flink test:pipeline/stage test:cmd/prepare-data/command test:cmd/prepare-data
set -euo pipefail
go test -tags cluster ./pipeline/flink ./pipeline/stage ./cmd/prepare-data/command
go test -tags cluster ./cmd/prepare-data -run 'TestScripts/cluster'
