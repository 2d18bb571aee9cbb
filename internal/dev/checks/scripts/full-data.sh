#!/usr/bin/env bash
# The tests of the remaining packages with every case: characters, damaged places,
# random seeds, combinations of ranks. go test runs the fewest that test each promise.
# reads: test:extract/bzip2 test:extract/dedup test:extract/parquet test:extract/wiki test:internal/pyrandom
# reads: test:cmd/prepare-data/command test:pipeline test:records/... test:sharding/verify test:tokenize test:trainer/backendtest test:trainer/checkpoint test:trainer/cpu
set -euo pipefail
PRETEXT_FULL=1 go test -count=1 -timeout 30m ./extract/bzip2 ./extract/dedup ./extract/parquet ./extract/wiki ./internal/pyrandom \
	./records/... ./sharding/verify ./tokenize ./trainer/backendtest ./trainer/checkpoint ./trainer/cpu
PRETEXT_FULL=1 go test -count=1 -timeout 30m -run 'TestNegativesAreDrawnEvenly|TestMiniDumpsLose' ./pipeline
PRETEXT_FULL=1 go test -count=1 -timeout 30m -run 'TestCommandsMakeOneRequestAFile|TestATrainingStepMakesFewRequests|TestOpeningManyShardsWaitsLittle' ./cmd/prepare-data/command
