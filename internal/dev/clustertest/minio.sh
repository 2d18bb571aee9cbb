#!/usr/bin/env bash
# minio.sh [CACHE]: builds MinIO's server, which tests use as an object store, and
# prints its path. pretext does not link it (AGPL). About ten minutes, once: the
# program lies below CACHE (default: the user's cache folder) and carries the version.
set -euo pipefail
version=v0.0.0-20260212201848-7aac2a2c5b7c
cache=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/pretext-cluster}
program=$cache/minio-$version/minio
mkdir -p "$cache"
exec 9>"$cache/minio.lock"
flock 9
if [ ! -x "$program" ]; then
	GOBIN=$(dirname "$program")/new CGO_ENABLED=0 go install -ldflags=-s "github.com/minio/minio@$version" >&2
	mv "$(dirname "$program")/new/minio" "$program"
fi
echo "$program"
