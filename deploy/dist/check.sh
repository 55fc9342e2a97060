#!/bin/sh
# Checks the archives of a release in a folder: check.sh FOLDER ARCH VERSION. The archive for this machine is
# unpacked, and its server stores and returns a row. Then a second build must have the same bytes.
set -eu
dist=$(cd "$1" && pwd) arch=$2 version=$3
name=cordwood_${version}_linux_$arch
repo=$(pwd)
fail() { echo "$dist: $*" >&2; exit 1; }
tmp=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$tmp"' EXIT

(cd "$dist" && sha256sum --check --quiet SHA256SUMS) || fail "the sums are wrong"
for archive in "$dist"/*.tar.gz; do
  grep -q "  $(basename "$archive")\$" "$dist/SHA256SUMS" || fail "$archive has no sum"
done

tar -xzf "$dist/$name.tar.gz" -C "$tmp"
here=$tmp/$name
for want in cordwood LICENSE README.md CHANGELOG.md docs/sql.md completions/cordwood.bash completions/_cordwood completions/cordwood.fish \
  systemd/cordwood.service systemd/cordwood.yaml prometheus/alerts.yaml grafana/overview.json licences/LIST licences/go@*/LICENSE \
  licences/duckdb@*/LICENSE licences/duckdb@*/icu/LICENSE licences/zstd@*/LICENSE sbom.cdx.json; do
  [ -s "$here"/$want ] || fail "the archive has no $want" # $want may be a pattern
done
cmp "$here/sbom.cdx.json" "$dist/$name.cdx.json"
cd "$here"
./cordwood version >"$tmp/version"
cat "$tmp/version"
! grep -q unknown "$tmp/version" || fail "the program does not print its commit"
./cordwood version --json | grep -q "\"version\":\"$version\",\"commit\":\"[0-9a-f]\{40\}\",\"date\":\"20[0-9-]*T[0-9:]*Z\"" || fail "version --json does not print the version, commit and date"
bash -n completions/cordwood.bash

port=$((20000 + $$ % 5000))
./cordwood serve --data-dir "$tmp/data" --http-addr 127.0.0.1:$port --rpc-addr 127.0.0.1:$((port + 5000)) >"$tmp/log" 2>&1 &
server=$!
export CORDWOOD_SERVER=http://127.0.0.1:$port
tries=0
until ./cordwood health --ready >/dev/null 2>&1; do
  tries=$((tries + 1))
  [ $tries -lt 300 ] && kill -0 $server 2>/dev/null || { cat "$tmp/log" >&2; fail "the server does not become ready"; }
  sleep 0.2
done
echo '{"level":"error","message":"from the archive"}' >"$tmp/rows.json"
./cordwood ingest "$tmp/rows.json" --table app >/dev/null
./cordwood sql "SELECT message FROM app WHERE level = 'error'" | grep -q 'from the archive' || fail "the row did not come back"
kill $server
wait $server || fail "the server ended with an error"
server=

# Build again from a copy in another folder; with DIST_COLD=1, with an empty build cache.
cd "$repo"
mkdir "$tmp/copy"
git ls-files -z | tar -c --null --files-from - | tar -x -C "$tmp/copy"
[ -z "${DIST_COLD:-}" ] || export GOCACHE="$tmp/cache"
make --no-print-directory -C "$tmp/copy" dist DIST="$tmp/again" DIST_ARCHES="$arch" VERSION="$version" COMMIT="$(git rev-parse HEAD)" \
  DATE="$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)" EPOCH="$(git log -1 --format=%ct)" >"$tmp/log" 2>&1 ||
  { cat "$tmp/log" >&2; fail "the second build failed"; }
for made in "$name.tar.gz" "$name.cdx.json"; do
  cmp "$dist/$made" "$tmp/again/$made" || fail "$made differs in the second build"
done
echo "the archives in $dist are ok: $(cd "$dist" && echo *.tar.gz)"
