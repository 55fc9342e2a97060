#!/usr/bin/env bash
# Builds images/pause.tar, an image with a single program, without a daemon.
. "$(dirname "$0")/env.sh"
mkdir -p "$K/images"
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
cd "$W"
cc -Os -static -o pause "$here/pause.c"
strip pause
tar --sort=name --mtime=@0 --owner=0 --group=0 -cf layer.tar pause
cat >config.json <<JSON
{"architecture":"$(go env GOARCH)","os":"linux","config":{"Entrypoint":["/pause"],"User":"65535:65535"},
 "rootfs":{"type":"layers","diff_ids":["sha256:$(sha256sum layer.tar | cut -d' ' -f1)"]}}
JSON
echo '[{"Config":"config.json","RepoTags":["localhost/pause:1"],"Layers":["layer.tar"]}]' >manifest.json
tar -cf "$K/images/pause.tar" manifest.json config.json layer.tar
