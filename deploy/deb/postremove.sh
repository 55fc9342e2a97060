#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$1" = purge ]; then
  # Rows are not settings: they stay until somebody removes them.
  rm -rf /etc/cordwood
  if [ -d /var/lib/cordwood ]; then echo "the rows in /var/lib/cordwood are kept; remove the folder if nobody needs them" >&2; fi
fi
