#!/usr/bin/env bash
# Runs a program for Windows on wine, in a folder of its own for what wine keeps.
# Every Go program loads bcryptprimitives.dll, which wine before 9 lacks: here it is a
# library without code, whose ProcessPrng is the system's SystemFunction036, which is
# documented as RtlGenRandom and takes the same arguments.
set -euo pipefail
export WINEPREFIX=${WINEPREFIX:-${TMPDIR:-/tmp}/pretext-wine-$(id -u)} WINEARCH=win64 WINEDEBUG=-all
library=$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll
if [ ! -e "$library" ]; then
	mkdir -p "$WINEPREFIX"
	/usr/lib/wine/wine64 wineboot --init >/dev/null 2>&1 || true
	[ -e "$library" ] || python3 "$(dirname "$0")/forward_dll.py" "$library"
fi
exec /usr/lib/wine/wine64 "$@"
