#!/usr/bin/env bash
# Stops all processes that up.sh started. `down.sh --clean` also deletes its files, except the programs.
. "$(dirname "$0")/env.sh"
for n in $NODES; do "$here/node.sh" down "$n"; done
for p in coredns scheduler controller-manager apiserver etcd; do stop $p; done
ip link del kt0 2>/dev/null || true
while iptables -D FORWARD -i kt0 -o kt0 -j ACCEPT 2>/dev/null; do :; done
[ ! -f "$K/sysctls" ] || { sysctl -q -p "$K/sysctls" && rm "$K/sysctls"; }
[ "${1:-}" != --clean ] || rm -rf "$K/etcd" "$K/pki" "$K/log" "$K/run" "$K"/node-* "$K"/*.conf "$K/Corefile"
