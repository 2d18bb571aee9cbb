#!/usr/bin/env bash
# Every listener, as root, attacked by another user and from another network namespace:
# calls of functions by symbol, StartWorker forty times, replays, floods, garbage; and
# the same with each check off, where the attacks must succeed. It needs root, iproute2
# and util-linux, and prints what a flood costs.
# reads: test:internal/trust test:internal/dev/stranger test:pipeline/flink test:pipeline/stage test:trainer/comm test:cmd/train-bert/internal/serve
set -euo pipefail
quiet() { grep -vE '^(=== |PASS$)' || true; }
go test -count=1 -v ./internal/trust -run 'User|Listener|Crowd|Secret' | quiet
go test -count=1 -v -tags cluster ./pipeline/flink -run 'Stranger|Unguarded|Flooded|Token|MoreWorkers|NoURL|StaysOnItsMachine' | quiet
go test -count=1 -v ./pipeline/stage -run 'NotSealed' | quiet
go test -count=1 -v ./trainer/comm -run 'AnotherUser|AnotherMachine|Flooded|Strangers|Replayed|WrongSecret' | quiet
go test -count=1 -v ./cmd/train-bert/internal/serve -run 'AnotherSite|LoopbackOnly|SlowClient|Flooded' | quiet
