#!/usr/bin/env bash
# What make release writes for this platform, by the tools of others: the same bytes
# from another folder, the archive, the bill of materials, the image in an empty root,
# and the wheel, whose package reads shards of every recipe with and without PyTorch.
# reads: go:internal/dev/release go:cmd/prepare-data go:cmd/train-bert go:internal/dev/interop/order
# reads: internal/dev/interop/check_release.py internal/dev/interop/make_shards.sh python docs/pytorch.md env:release
set -euo pipefail
platform=$(go env GOOS)/$(go env GOARCH)
tools=$(internal/dev/checks/env.sh release)
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
release=$dir/release
go run ./internal/dev/release -platforms "$platform" -out "$release" >/dev/null
(cd "$release" && sha256sum --check --quiet SHA256SUMS)

echo "the same bytes from another folder"
mkdir "$dir/source"
git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read 2>/dev/null | tar -x -C "$dir/source"
go run ./internal/dev/release -source "$dir/source" -platforms "$platform" -out "$dir/again" >/dev/null
diff "$release/SHA256SUMS" "$dir/again/SHA256SUMS"
rm -rf "$dir/again" "$dir/source"

echo "the archive"
mkdir "$dir/local"
tar -xzf "$release"/pretext-*-"${platform/\//-}".tar.gz --strip-components=1 -C "$dir/local"
version=$(sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -1)
for program in prepare-data train-bert; do
	"$dir/local/bin/$program" version | grep -q "version $version "
	bash -c "source '$dir/local/share/bash-completion/completions/$program' && complete -p $program" >/dev/null
done
[ "$(find "$dir/local/share/man" -name '*.1' | wc -l)" -gt 40 ]
mandoc -T lint -W error "$dir"/local/share/man/man1/*.1

echo "the bill of materials"
"$tools" internal/dev/interop/check_release.py bill "$release"/*.cdx.json "$dir/local/bin"

echo "the image"
image=$dir/image
skopeo inspect --override-os linux "oci-archive:$(echo "$release"/*-oci.tar):$version" | grep -q "\"org.opencontainers.image.version\": \"$version\""
skopeo copy --quiet "oci-archive:$(echo "$release"/*-oci.tar):$version" "oci:$image:$version"
umoci unpack --image "$image:$version" "$dir/bundle"
root=$dir/bundle/rootfs
[ "$(cd "$root" && find . -mindepth 1 | sort | tr '\n' ' ')" = "./NOTICES.txt ./data ./prepare-data ./train-bert " ]
chmod a+rx "$dir" "$dir/bundle"
empty() { env -i "$(command -v chroot)" --userspec=65532:65532 "$root" "$@"; }
empty /prepare-data version
empty /prepare-data demo --out /data/demo --quiet >/dev/null
empty /prepare-data verify /data/demo
empty /train-bert train --data /data/demo --out /data/model --model tiny --num-train-steps 2 --num-warmup-steps 0 --train-batch-size 4 --quiet

echo "the wheel"
wheel=$(echo "$release"/*.whl)
"$tools" -m twine check --strict "$wheel"
"$tools" -m check_wheel_contents "$wheel"
for kind in bare torch; do
	options=(--without-pip)
	[ $kind = bare ] || options+=(--system-site-packages)
	/usr/bin/python3 -m venv "${options[@]}" "$dir/$kind"
	"$dir/$kind/bin/python" -m ensurepip >/dev/null
	"$dir/$kind/bin/python" -m pip install --quiet --no-index "$wheel"
done
"$dir/bare/bin/prepare-data" version
"$dir/bare/bin/train-bert" version
export PRETEXT_SHARDS=$dir/shards
mkdir "$PRETEXT_SHARDS"
go build -o "$dir/order" ./internal/dev/interop/order
internal/dev/interop/make_shards.sh "$dir/bare/bin/prepare-data" "$dir/order" "$PRETEXT_SHARDS"
(cd python/tests && "$dir/bare/bin/python" -c 'import numpy' 2>/dev/null && exit 1 || true)
for kind in bare torch; do
	pattern='test_[ps]*.py'
	[ $kind = bare ] || pattern='test_*.py'
	# -P: the package of the wheel, not the one beside the tests
	(cd python/tests && "$dir/$kind/bin/python" -B -W error::ResourceWarning -m unittest discover -p "$pattern")
done

echo "docs/pytorch.md"
cp -r "$PRETEXT_SHARDS/google" "$dir/data"
(cd "$dir" && "$dir/torch/bin/python" "$OLDPWD/internal/dev/interop/check_release.py" page "$OLDPWD/docs/pytorch.md")
