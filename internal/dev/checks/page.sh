#!/usr/bin/env bash
# page.sh PAGE: prints the commands of a page of docs/for: its blocks of sh, then the calls
# of our programs in its text.
set -euo pipefail
awk '$0 == "```" {on = 0} on {print} $0 == "```sh" {on = 1}' "$1"
{ grep -oE '`(prepare-data|train-bert) [^`]+`' "$1" || true; } | tr -d '`'
