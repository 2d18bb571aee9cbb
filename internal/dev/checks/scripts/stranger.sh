#!/usr/bin/env bash
# The first two commands of the README, as somebody runs them who has just cloned the
# repository: another user where this one is root, with empty caches, without the real
# data, and with nothing of the environment but PATH and what the go command needs to
# reach modules. It prints the time of each.
# reads: code: block:README.md#Try_it machine:
set -euo pipefail
root=$(pwd)
dir=$(mktemp -d)
chmod 755 "$dir"
trap 'chmod -R u+w "$dir" && rm -rf "$dir"' EXIT
# A clone has what is committed, but a check is of what lies here.
git clone --quiet --no-hardlinks "$root" "$dir/pretext"
git ls-files -z --deleted | (cd "$dir/pretext" && xargs -0 -r rm -f --)
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do [ ! -e "$f" ] || printf '%s\0' "$f"; done |
	tar -c --null --files-from=- | tar -x -C "$dir/pretext"
mkdir "$dir/home" "$dir/tmp"
as=()
if [ "$(id -u)" = 0 ]; then
	as=(setpriv "--reuid=$(id -u nobody)" "--regid=$(id -g nobody)" --clear-groups)
	chown -R nobody "$dir"
fi
awk '/^## Try it$/ {on = 1} on && /^```$/ {exit} on && block {print} on && /^```sh$/ {block = 1}' README.md >"$dir/commands"
[ "$(wc -l <"$dir/commands")" -ge 2 ] || { echo "README.md: the commands below \"Try it\" were not found"; exit 1; }
environment=(PATH="$PATH" HOME="$dir/home" TMPDIR="$dir/tmp" GOPATH="$dir/home/go" GOMODCACHE="$dir/home/mod" GOCACHE="$dir/home/cache" GOFLAGS=-modcacherw)
for name in GOPROXY GOSUMDB GONOSUMDB GOTOOLCHAIN SSL_CERT_FILE HTTPS_PROXY NO_PROXY GODEBUG; do
	if [ -n "${!name:-}" ]; then environment+=("$name=${!name}"); fi
done
cd "$dir/pretext"
while IFS= read -r command; do
	echo "$command"
	TIMEFORMAT='  %R s by the clock, %U s + %S s of CPU'
	time "${as[@]}" env -i "${environment[@]}" bash -c "$command" || { echo "FAILED: $command"; exit 1; }
done <"$dir/commands"
