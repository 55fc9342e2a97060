#!/bin/sh
# Sends records with the marks FIRST to LAST-1 by util-linux's logger: send.sh CLIENT FIRST LAST ADDRESS PAUSE. Every
# tenth record is an error.
case $1 in
logger-tcp) how=--tcp ;;
logger-tcp-octets) how='--tcp --octet-count' ;;
logger-udp-3164) how='--udp --rfc3164' ;;
*) echo "unknown client $1" >&2; exit 1 ;;
esac
seq "$2" "$(($3 - 1))" | awk -v pause="$(($5))" '{
	print ($1 % 10 ? "<14>" : "<11>") "mark=" $1 " a record"
	if (pause && $1 % 20 == 19) { fflush(); system("sleep " pause / 1000) }
}' | logger $how --server "${4%:*}" --port "${4##*:}" --tag shop --prio-prefix
