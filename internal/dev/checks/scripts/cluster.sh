#!/usr/bin/env bash
# A real Flink cluster on loopback: bytes, faults, errors, Ctrl-C. Each fault meets one
# job, and -short leaves out two cases and half of the kinds of errors; make nightly
# has all. It needs Java 17 and Maven, and caches 300 MB in the user's cache folder.
# reads: test:internal/dev/clustertest go:cmd/prepare-data test:internal/store/s3 internal/dev/clustertest docs/cluster.md
set -euo pipefail
# Here, since the tests run in a network namespace from which nothing can be downloaded.
internal/dev/clustertest/dist.sh >/dev/null
make cluster-test CLUSTERFLAGS="${CLUSTERFLAGS:--short -times 1}"
