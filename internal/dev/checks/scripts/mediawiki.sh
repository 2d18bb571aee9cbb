#!/usr/bin/env bash
# MediaWiki itself renders templates, functions, modules and whole pages of dumps to the same text as extract, or extract counts a hole.
# reads: test:extract/wiki
set -euo pipefail
command -v php >/dev/null && command -v lua5.1 >/dev/null || { echo "php and lua5.1 are needed: apt-get install php-cli php-sqlite3 php-mbstring php-xml php-intl lua5.1"; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# The packages are unpacked only: to install them would bring a web server.
(cd "$dir" && apt-get download -qq mediawiki mediawiki-classes 2>/dev/null)
mkdir "$dir/root" "$dir/data" "$dir/cache"
for package in "$dir"/*.deb; do dpkg-deb -x "$package" "$dir/root"; done
find "$dir/root" -type l | while read -r link; do
	target=$(readlink "$link")
	case $target in /*) ln -sfn "$dir/root$target" "$link" ;; esac
done
rm -f "$dir/root/usr/share/mediawiki/LocalSettings.php" "$dir/root/var/lib/mediawiki/LocalSettings.php"
# An empty wiki: the test gives each case its own pages.
(cd "$dir/root/usr/share/mediawiki" && php maintenance/install.php --dbtype sqlite --dbpath "$dir/data" --dbname wiki --confpath "$dir" \
	--server http://localhost --scriptpath "" --pass "$(head -c 12 /dev/urandom | base64)x1" Wiki Admin >"$dir/install.log" 2>&1) || { tail -5 "$dir/install.log"; exit 1; }
PRETEXT_MEDIAWIKI=$dir go test -count=1 -v -run MediaWikiRenders ./extract/wiki | grep -vE '^(=== RUN|    --- PASS)' | tail -60
