#!/usr/bin/env bash
# Hostile files of tokenizers, and expressions with and without a memo, every case.
# reads: test:tokenize/hf test:tokenize/internal/onig
set -euo pipefail
PRETEXT_FULL=1 go test -count=1 -timeout 30m ./tokenize/hf ./tokenize/internal/onig
