#!/bin/sh
set -e
# During an upgrade the server keeps running until the new one is installed.
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
  systemctl disable --now cordwood.service
fi
