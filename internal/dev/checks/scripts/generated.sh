#!/usr/bin/env bash
# Generated files are what their generators write. (The words of
# extract/wiki/wikitext come from MediaWiki's message files, which are not here.)
# reads: code: docs/commands.md
set -euo pipefail
changes() { git diff -- . ':!internal/dev/checks/green.txt' | sha256sum; }
before=$(changes)
go generate ./cmd/internal/gencommands ./tokenize ./trainer/cpu/internal/kernel ./internal/democorpus ./cmd/train-bert/...
[ "$(changes)" = "$before" ] || { git diff --stat; exit 1; }
