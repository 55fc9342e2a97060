#!/bin/sh
# Checks a Debian package: what is in it, and that systemd understands the unit.
set -eu
deb=$1
list=$(dpkg-deb --contents "$deb")
for want in ./usr/bin/cordwood ./lib/systemd/system/cordwood.service ./etc/cordwood/cordwood.yaml ./usr/share/doc/cordwood/copyright ./usr/share/doc/cordwood/licences/LIST; do
  echo "$list" | grep -q " $want\$" || { echo "$deb: $want is missing" >&2; exit 1; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
dpkg-deb --raw-extract "$deb" "$dir"
grep -qx /etc/cordwood/cordwood.yaml "$dir/DEBIAN/conffiles" || { echo "$deb: the settings would be overwritten by an upgrade" >&2; exit 1; }
for script in postinst prerm postrm; do sh -n "$dir/DEBIAN/$script"; done
"$dir/usr/bin/cordwood" serve --config "$dir/etc/cordwood/cordwood.yaml" --print-config >"$dir/config"
grep -qx 'data-dir: /var/lib/cordwood' "$dir/config" || { echo "$deb: the settings name another data folder" >&2; exit 1; }
if command -v systemd-analyze >/dev/null; then
  unit=$dir/cordwood.service
  # The user and the program exist once it is installed.
  sed "s#/usr/bin/cordwood#$dir/usr/bin/cordwood#; s/^User=.*/User=daemon/; s/^Group=.*/Group=daemon/" "$dir/lib/systemd/system/cordwood.service" >"$unit"
  said=$(systemd-analyze verify "$unit" 2>&1 | grep cordwood.service || true)
  [ -z "$said" ] || { echo "$said" >&2; exit 1; }
fi
echo "$deb is as it should be"
