#!/usr/bin/env bash
# env.sh NAME: prints the path of a Python that has the packages of envs/NAME.txt;
# env.sh NAME ARGUMENT... runs that Python with arguments instead. It is made once and shared by all checkouts: it lies in the user's cache directory,
# below the hash of that file. Lines that begin with "#:" are options:
#   #: system   build on the system's /usr/bin/python3 and its packages (torch)
#   #: no-deps  install the packages that follow without what they ask for
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
list=$here/envs/$1.txt
python=python3 options=(--without-pip)
if grep -q '^#: system' "$list"; then
	python=/usr/bin/python3 options=(--without-pip --system-site-packages)
fi
version=$("$python" -c 'import sys; print(sys.version)')
key=$({ cat "$list" "$here/env.sh"; echo "$version"; } | sha256sum | cut -c1-16)
dir=${XDG_CACHE_HOME:-$HOME/.cache}/pretext/env/$1-$key
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9
if [ ! -e "$dir/ready" ]; then
	rm -rf "$dir/bin" "$dir/lib"
	{
		"$python" -m venv "${options[@]}" "$dir"
		"$dir/bin/python" -m ensurepip >/dev/null
		# What stands before "#: no-deps" comes with what it needs, the rest without.
		sed '/^#: no-deps/,$d' "$list" >"$dir/with.txt"
		sed '1,/^#: no-deps/d' "$list" >"$dir/without.txt"
		pip=("$dir/bin/python" -m pip install --quiet --disable-pip-version-check)
		if grep -q '^[^#]' "$dir/with.txt"; then "${pip[@]}" -r "$dir/with.txt"; fi
		if grep -q '^[^#]' "$dir/without.txt"; then "${pip[@]}" --no-deps -r "$dir/without.txt"; fi
	} >&2
	touch "$dir/ready"
fi
exec 9>&-
if [ $# -eq 1 ]; then
	echo "$dir/bin/python"
else
	exec "$dir/bin/python" "${@:2}"
fi
