#!/usr/bin/env bash
# Lists the places of the data path at which PROGRAM, prepare-data for a processor
# that joins a product and a sum to one operation, joins them: there the last bit
# differs from that of other processors. float64(x*y)+z rounds x*y everywhere; see
# package internal/portable, whose own joined operations are asked for by math.FMA.
# What only estimates, draws or compares with a tolerance may join them.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: internal/dev/checks/fused.sh PROGRAM" >&2; exit 2; }

go tool objdump -s '^pretext/(extract|internal|records|sharding|tokenize)' "$1" | awk '
	$1 == "TEXT" { function_name = $2 }
	function_name ~ /^pretext\/(internal\/(bench|plot|portable\.Exp)|sharding\/(survey|verify))/ { next }
	/[ \t]FN?M(ADD|SUB)[SD][ \t]/ { print $1 ": " function_name " joins a product and a sum: write float64(x*y)+z"; bad = 1 }
	$1 == "TEXT" { seen++ }
	END {
		if (seen < 1000) { print "the program has only " seen+0 " functions of the data path: was it stripped?"; bad = 1 }
		exit bad
	}
'
