#!/usr/bin/env bash
# The demo by the program for Windows, on wine: the same bytes.
# reads: go:cmd/prepare-data internal/dev/checks/samedemo.sh internal/dev/checks/wine.sh internal/dev/checks/forward_dll.py
set -euo pipefail
[ -x /usr/lib/wine/wine64 ] || { echo "wine is needed: apt-get install --no-install-recommends wine64"; exit 1; }
CGO_ENABLED=0 GOOS=windows go build -trimpath -o bin/windows-amd64/ ./cmd/prepare-data
internal/dev/checks/samedemo.sh internal/dev/checks/wine.sh bin/windows-amd64/prepare-data.exe
