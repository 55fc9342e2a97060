#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$1" = purge ]; then
  # purge removes settings. Rows are kept until an administrator removes them.
  rm -rf /etc/cordwood
  if [ -d /var/lib/cordwood ]; then echo "the rows in /var/lib/cordwood are kept; remove the folder if they are no longer needed" >&2; fi
fi
