#!/usr/bin/env bash
# dist.sh [CACHE]: makes what the cluster tests run and prints its folder: a lib/ with
# Flink's jars and beam-flink.jar, Beam's runner and job server, and the plugin of Flink's
# image that reports metrics. Nothing is made twice: the folder lies below CACHE (default:
# the user's cache folder) and carries the versions.
# Needs JDK 17, Maven and Python 3 with venv; about three minutes, 230 MB.
set -euo pipefail
flink=1.19.3 minor=1.19 beam=2.62.0
here=$(cd "$(dirname "$0")" && pwd)
cache=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/pretext-cluster}
mkdir -p "$cache"
dist=$cache/flink-$flink-beam-$beam-3
exec 9>"$cache/lock"
flock 9 # two builds at a time would write each other's files
if [ ! -d "$dist" ]; then
	work=$(mktemp -d "$cache/.build-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	# PyPI's package has the distribution's lib/, without bin/ and conf/.
	python3 -m venv "$work/venv"
	"$work/venv/bin/pip" install -q --no-deps --disable-pip-version-check "apache-flink-libraries==$flink" >&2
	mkdir -p "$work/dist/lib"
	cp "$work"/venv/lib/python3*/site-packages/pyflink/lib/{flink-dist,log4j}-*.jar "$work/dist/lib/"
	mkdir -p "$work/dist/plugins"
	cp -r "$work"/venv/lib/python3*/site-packages/pyflink/plugins/metrics-prometheus "$work/dist/plugins/"
	mvn -q -B -f "$here/pom.xml" -Dflink.minor="$minor" -Dbeam="$beam" -Dout="$work/target" package >"$work/log" 2>&1 ||
		{ tail -20 "$work/log" >&2; exit 1; }
	mv "$work/target/beam-flink.jar" "$work/dist/lib/"
	mv "$work/dist" "$dist"
fi
echo "$dist"
