#!/bin/sh
# Checks a Debian package: its files, that systemd accepts the unit, and that it restarts a server that the watchdog killed.
set -eu
deb=$1
list=$(dpkg-deb --contents "$deb")
for want in ./usr/bin/cordwood ./lib/systemd/system/cordwood.service ./etc/cordwood/cordwood.yaml ./usr/share/doc/cordwood/copyright ./usr/share/doc/cordwood/licences/LIST; do
  echo "$list" | grep -q " $want\$" || { echo "$deb: $want is missing" >&2; exit 1; }
done
dir=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT
dpkg-deb --raw-extract "$deb" "$dir"
grep -qx /etc/cordwood/cordwood.yaml "$dir/DEBIAN/conffiles" || { echo "$deb: the settings would be overwritten by an upgrade" >&2; exit 1; }
for script in postinst prerm postrm; do sh -n "$dir/DEBIAN/$script"; done
"$dir/usr/bin/cordwood" serve --config "$dir/etc/cordwood/cordwood.yaml" --print-config >"$dir/config"
grep -qx 'data-dir: /var/lib/cordwood' "$dir/config" || { echo "$deb: the settings have another data folder" >&2; exit 1; }

# The exit status after the watchdog's signal must differ from the status for wrong settings, after which the unit stays down.
unit=$dir/lib/systemd/system/cordwood.service
keep=$(sed -n 's/^RestartPreventExitStatus=//p' "$unit")
: >"$dir/log"
# shellcheck disable=SC2046 # one variable per line, without spaces
env $(sed -n 's/^Environment=//p' "$unit") "$dir/usr/bin/cordwood" serve --data-dir "$dir/data" --http-addr 127.0.0.1:0 --rpc-addr 127.0.0.1:0 >"$dir/log" 2>&1 &
server=$!
tries=0
until grep -q '"msg":"ready"' "$dir/log"; do
  tries=$((tries + 1))
  [ $tries -lt 600 ] && kill -0 $server 2>/dev/null || { cat "$dir/log" >&2; echo "$deb: the server does not become ready" >&2; exit 1; }
  sleep 0.2
done
kill -ABRT $server
status=0
wait $server || status=$?
server=
[ "$status" != "$keep" ] || { echo "$deb: at SIGABRT the server ends with $status, as for wrong settings: systemd would not start it again" >&2; exit 1; }

if command -v systemd-analyze >/dev/null; then
  unit=$dir/cordwood.service
  # The user and the program exist only after the installation.
  sed "s#/usr/bin/cordwood#$dir/usr/bin/cordwood#; s/^User=.*/User=daemon/; s/^Group=.*/Group=daemon/" "$dir/lib/systemd/system/cordwood.service" >"$unit"
  said=$(systemd-analyze verify "$unit" 2>&1 | grep cordwood.service || true)
  [ -z "$said" ] || { echo "$said" >&2; exit 1; }
fi
echo "$deb: ok"
