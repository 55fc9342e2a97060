#!/bin/sh
set -e
if [ "$1" = configure ]; then
  if ! getent group cordwood >/dev/null; then groupadd --system cordwood; fi
  if ! getent passwd cordwood >/dev/null; then
    useradd --system --gid cordwood --home-dir /var/lib/cordwood --no-create-home --shell /usr/sbin/nologin cordwood
  fi
  chgrp cordwood /etc/cordwood /etc/cordwood/cordwood.yaml
  chmod 0750 /etc/cordwood
  if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    # An upgrade restarts a running server. After the first installation, edit the settings, then: systemctl enable --now cordwood
    systemctl try-restart cordwood.service
  fi
fi
