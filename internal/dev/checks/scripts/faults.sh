#!/usr/bin/env bash
# Kills, signals, full disks and damage, more often and of more commands than go test
# tries them; make torture does it for hours.
# reads: test:cmd/prepare-data test:sharding/verify test:pipeline
set -euo pipefail
export PRETEXT_WORKS=1 PRETEXT_KILLS=10 PRETEXT_SIGNALS=10 PRETEXT_DISKS=3 PRETEXT_DAMAGE=700 PRETEXT_POWER_FAILURES=6
go test -count=1 -timeout 30m -run 'Killed|Signal|Full|Power|Damage|EveryFile|Cancelled' ./cmd/prepare-data ./sharding/verify ./pipeline
