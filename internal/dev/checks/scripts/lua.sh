#!/usr/bin/env bash
# Programs give the same results in Lua 5.1 itself as in the sandbox for the modules of wikis.
# reads: test:extract/wiki/internal/lua
set -euo pipefail
command -v lua5.1 >/dev/null || { echo "lua5.1 is needed: apt-get install lua5.1"; exit 1; }
PRETEXT_LUA=lua5.1 go test -count=1 -v -run LuaGivesTheSame ./extract/wiki/internal/lua | tail -4
