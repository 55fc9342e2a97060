# Sourced by the other scripts: paths, and functions that start and stop processes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
K=${KUBE_TEST_DIR:-/tmp/k8s} # all files of the test
BIN=$K/bin
PKI=$K/pki
NODES=${KUBE_TEST_NODES:-"1 2 3"}
HOST=10.77.0.1 # the machine itself on the bridge: API server and DNS
export KUBECONFIG=$K/admin.conf PATH=$BIN:$PATH
mkdir -p "$K/run" "$K/log"

node_ip() { echo "10.77.0.$((10 + $1))"; }
die() { echo "kubernetes-test: $*" >&2; exit 1; }

# start NAME COMMAND… runs a command in the background, with its output in log/NAME.log and its id in run/NAME.pid.
start() {
  local name=$1
  shift
  if alive "$name"; then return; fi
  setsid "$@" >>"$K/log/$name.log" 2>&1 </dev/null &
  echo $! >"$K/run/$name.pid"
}

alive() { [ -f "$K/run/$1.pid" ] && kill -0 "$(cat "$K/run/$1.pid")" 2>/dev/null; }

# stop NAME [SIGNAL] ends a process and waits up to ten seconds for it.
stop() {
  alive "$1" || { rm -f "$K/run/$1.pid"; return 0; }
  local pid
  pid=$(cat "$K/run/$1.pid")
  kill "-${2:-TERM}" "$pid" 2>/dev/null || true
  for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  kill -KILL "$pid" 2>/dev/null || true
  rm -f "$K/run/$1.pid"
}

# wait_for SECONDS WHAT COMMAND…
wait_for() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || die "$what: time limit exceeded; see $K/log"
    sleep 1
  done
}
