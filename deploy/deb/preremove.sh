#!/bin/sh
set -e
# An upgrade goes on with the running server until the new one is there.
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl disable --now cordwood.service
fi
