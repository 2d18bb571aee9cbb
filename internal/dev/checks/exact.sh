#!/usr/bin/env bash
# Tests of exactness that take an emulator seconds, for another processor: GOARCH says
# which, the arguments are for go test (-exec).
set -euo pipefail
packages=(./internal/portable ./internal/pyrandom ./internal/utf8scan ./records ./records/tfrecord ./records/pretrain ./extract/bzip2 ./extract/wiki/wikitext ./tokenize ./tokenize/sentence
	./tokenize/vocab ./tokenize/hf ./sharding ./trainer/dropout ./trainer/cpu ./trainer/cpu/internal/kernel)
tests='EveryProcessor|PackageMath|ThoseOfPackageCRC32|BytesOfTheFormat|AuthorsVectors|GoldenTable|Python|OfTheOriginalOnTheDemosText|HalfToEven|FixturesDecode|SharedCases|OwnCases|ConvertShows'
# What vector code computes, compared with plain code.
tests+='|Refill|Permutation|Vector|PlainLoops|PiecesAreFetched|ValidityOf|ValidUTF8|SkippingBy|RunsExpand|RunsOfAny|TheChecksumEquals'
tests+='|FuzzCut|FuzzCRC|FuzzRuns|FuzzBlock|FuzzAppend'
tests+='|ReferenceOnTheCases|ProfileHFGives|OfNLTK$|RobertaGives|Pinned|HeldOutShare|ElementFunctions|ProductsEqualGonums|ATileIs|AdamEquals|MomentsWithout|ExtremesStay|InstructionSetsAgree|ATinyModelLearnsAsRecorded'
go test -trimpath -vet=off -short -run "$tests" "$@" "${packages[@]}"
