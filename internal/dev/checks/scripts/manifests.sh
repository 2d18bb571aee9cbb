#!/usr/bin/env bash
# The manifests of the documentation against Kubernetes' own schemas, strictly: a field
# that does not exist or lacks its company is an error. The oldest version is the one that
# docs/cluster.md names.
# reads: docs/cluster.md docs/multi-gpu.md env:manifests
set -euo pipefail
python=$(internal/dev/checks/env.sh manifests)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for page in cluster multi-gpu; do
	awk '/^```yaml$/ {n++; on = 1; next} /^```$/ {on = 0} on {print > (dir "/" page n ".yaml")}' dir="$dir" page="$page" "docs/$page.md"
done
manifests=$(grep -l '^apiVersion:' "$dir"/*.yaml)
objects=$(cat $manifests | grep -c '^kind:')
[ "$objects" -ge 12 ] || { echo "$objects objects found in the pages, at least 12 are known"; exit 1; }
oldest=$(sed -n 's/.*Kubernetes \(1\.[0-9]*\) is the oldest.*/\1/p' docs/cluster.md)
validate() { "$python" -m kubernetes_validate.__main__ --strict --kubernetes-version "$@"; }
for version in "${oldest:?docs/cluster.md names no oldest version of Kubernetes}" 1.33 1.37; do
	passed=$(validate "$version" $manifests | tee /dev/stderr | grep -c ' passed for resource ')
	[ "$passed" = "$objects" ] || { echo "Kubernetes $version: $passed of $objects objects pass"; exit 1; }
done
# A judge that lets everything pass is none.
sed 's/^\( *\)replicas:/\1replica:/' "$dir/cluster2.yaml" >"$dir/wrong.yaml"
if validate 1.37 "$dir/wrong.yaml" >/dev/null 2>&1; then
	echo "a field that does not exist passed"
	exit 1
fi
echo "$objects objects pass"
