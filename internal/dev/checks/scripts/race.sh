#!/usr/bin/env bash
# The race detector, three times, on every package that starts goroutines or whose tests
# do; a test of internal/dev/checks finds them. Packages whose tests take long run those in
# which goroutines share something: what is found by numbers, damage and cancelled runs is
# left to the tests without it.
# reads: test:cmd/internal/clitest test:cmd/internal/pathflags test:cmd/prepare-data/command test:cmd/train-bert/command test:cmd/train-bert/internal/serve
# reads: test:extract/download test:extract/parallel test:extract/wiki/learn test:internal/dev/bench test:internal/dev/checks test:internal/dev/clustertest test:internal/dev/gpubench
# reads: test:internal/metrics test:internal/store test:internal/sumpair test:internal/trust test:pipeline/flink test:pipeline/stage test:sharding test:sharding/survey
# reads: test:trainer test:trainer/comm test:trainer/comm/launch test:trainer/cpu/internal/kernel test:trainer/finetune/predict test:trainer/internal/ranktest test:trainer/loader
# reads: test:cmd/prepare-data test:cmd/train-bert test:extract/books test:extract/wiki test:pipeline test:records/pretrain test:sharding/verify test:tokenize
# reads: test:tokenize/vocab test:trainer/backendtest test:trainer/cpu test:trainer/cuda test:trainer/cuda/driver test:trainer/cuda/sim test:trainer/session
set -euo pipefail
race() { go test -race -short -count=3 -timeout 20m "$@"; }
# Skipped: tests that measure memory or the time of a bar, and one that runs once a process.
race -skip 'WhateverAPathFlagNames|EveryCommandWritesJSON|BarsDoNotWrap' ./cmd/internal/clitest ./cmd/internal/pathflags ./cmd/prepare-data/command ./cmd/train-bert/command ./cmd/train-bert/internal/serve \
	./extract/download ./extract/parallel ./extract/wiki/learn ./internal/dev/bench ./internal/dev/checks ./internal/dev/clustertest \
	./internal/metrics ./internal/store ./internal/sumpair ./internal/trust ./pipeline/flink ./pipeline/stage ./sharding ./sharding/survey \
	./trainer ./trainer/comm ./trainer/comm/launch ./trainer/cpu/internal/kernel ./trainer/finetune/predict ./trainer/internal/ranktest ./trainer/loader
race -run 'OfFiftyStarts' ./cmd/prepare-data
race -run 'LastLine|ASignalSavesAndExits' ./cmd/train-bert
race -run 'RangesMayBeRead|ShortestDefinitions' ./extract/wiki
race -run 'HelpersDoNotChangeTheBooks|HelpersStopsWhenAsked' ./extract/books
race -run 'StaleWorker|ACancelledRunGoesOn|WordCountsAre' ./pipeline
race -run 'CompleteCorpusMayBeShared|CancelledContext' ./records/pretrain
race -run 'FilesOfAnyone|AddedFiles|EditedDocument' ./sharding/verify
race -run 'EncodersShare' ./tokenize
race -run 'ATrainedTokenizerLoads|TrainingEnds' ./tokenize/vocab
race -run 'TheProcessorPasses/^snapshot$' ./trainer/backendtest
race -run 'AreTheSameBits|MakeTheSameCalls' ./trainer/cpu
race -run 'TrainedWeights' ./internal/dev/gpubench
race -run 'AFailedCollective|AFailedRank' ./trainer/cuda
race ./trainer/cuda/driver ./trainer/cuda/sim
race -run 'RanksTrainTheModelOfOneProcess$' ./trainer/session
