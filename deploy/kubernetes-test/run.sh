#!/usr/bin/env bash
# Tests the chart on a Kubernetes cluster of three nodes and checks each step: install, upgrade and scaling under
# load, a drained and a lost machine, uninstall and install. Run it with `make kube-test`. It prints what is
# missing and skips the test if it cannot run here. Any other failure ends it.
. "$(dirname "$0")/env.sh"
skip() { echo "kube-test: skipped: $*"; exit 0; }
[ "$(id -u)" = 0 ] || skip "needs root, for network namespaces and mounts"
[ -d /sys/fs/cgroup/pids ] || skip "needs cgroup v1"
for b in containerd runc etcd iptables conntrack nsenter openssl jq python3 cc; do
  command -v $b >/dev/null || [ -x "$BIN/$b" ] || skip "no $b: apt-get install containerd runc etcd-server iptables conntrack util-linux openssl containernetworking-plugins jq python3 gcc"
done
[ -x /usr/lib/cni/bridge ] || skip "no /usr/lib/cni/bridge: apt-get install containernetworking-plugins"
[ "$NODES" = "1 2 3" ] || skip "needs three nodes"
! ip link show kt0 >/dev/null 2>&1 || die "another run is active: end it with deploy/kubernetes-test/down.sh --clean"

chart=$here/../helm/cordwood values=$here/values.yaml
summary=() begun=$SECONDS load_pid=
finish() {
  local code=$?
  [ -z "$load_pid" ] || kill "$load_pid" 2>/dev/null || true
  [ $code = 0 ] || kubectl get pods -o wide 2>/dev/null || true
  "$here/down.sh" --clean || true
  printf '\nkube-test: %s\n' "$([ $code = 0 ] && echo ok || echo FAILED)"
  printf '  %s\n' "${summary[@]}"
  exit $code
}
trap finish EXIT
trap 'exit 143' INT TERM

# step WHAT COMMAND… runs a command and adds its duration to the summary.
step() {
  local what=$1 from=$SECONDS
  shift
  echo "== $what"
  summary+=("FAILED: $what")
  "$@"
  summary[-1]="$what: $((SECONDS - from)) s${note:+, $note}"
  note=
}

release() { helm "$1" logs "$chart" -f "$values" --wait --timeout 10m "${@:2}" >/dev/null; }
cordwood() { kubectl exec deploy/logs-cordwood-router -- cordwood "$@"; }
# status prints the status of the cluster, and ignores the exit status of a broken one.
status() { cordwood cluster status --output json || true; }
service() { kubectl get svc logs-cordwood -o jsonpath='http://{.spec.clusterIP}:4000'; }

# under_load RETRIES COMMAND… runs a command during a load on node 1, which keeps running. No row may be
# lost, and the number of retried requests and failed queries must not exceed RETRIES.
under_load() {
  local retries=$1 again failed
  shift
  loads=$((loads + 1)) # not in the command below, which runs in a subshell
  nsenter --net=/run/netns/kt1 kube-load -url "$(service)" -table "load$loads" -for 1h >"$K/load.log" 2>&1 &
  load_pid=$!
  sleep 5
  "$@"
  sleep 5
  kill "$load_pid"
  wait "$load_pid" || { cat "$K/load.log"; die "the load failed: see above"; }
  load_pid=
  note=$(grep -E '^(requests|counts)' "$K/load.log" | paste -sd, | sed 's/,/, /g; s/  */ /g')
  again=$(sed -n 's/.*later try \([0-9]*\),.*/\1/p' "$K/load.log")
  failed=$(sed -n 's/^counts .*failed \([0-9]*\),.*/\1/p' "$K/load.log")
  [ $((again + failed)) -le "$retries" ] || { cat "$K/load.log"; die "$again requests had to be sent again and $failed queries failed, $retries at most were expected"; }
}
loads=0

tolerates() { status | jq -e '.failure_tolerance >= 1 and all(.shards[]; .state == "ok")'; }

install() {
  release install
  helm test logs >/dev/null
  # As in the notes of the chart, but inside the cluster.
  id=$(cordwood cluster status --output json | jq -er .cluster_id)
  kubectl create secret generic logs-cordwood-cluster-id --from-literal=id="$id"
}

upgrade() {
  for n in $NODES; do
    ctr -a "$K/node-$n/containerd.sock" -n k8s.io images tag --force docker.io/library/cordwood:latest docker.io/library/cordwood:next
  done
  release upgrade --set image.tag=next
}

scale() {
  for n in 5 3; do
    release upgrade --set image.tag=next --set shard.replicas=$n
    wait_for 300 "$n pods with all replicas" tolerates
  done
}

too_few() {
  local said
  said=$(helm upgrade logs "$chart" -f "$values" --set image.tag=next --set shard.replicas=2 --wait --timeout 5m 2>&1) &&
    die "two pods for three replicas were accepted"
  echo "$said" | grep -q "wants 3 replicas" || die "refused for another reason: $said"
  tolerates >/dev/null || die "an upgrade that was refused changed something"
}

# As before a reboot or an upgrade of the machine.
drained_machine() {
  kubectl drain node-2 --ignore-daemonsets --delete-emptydir-data --timeout=180s
  kubectl uncordon node-2
  wait_for 300 "all replicas after the drain" tolerates
  kubectl wait --for=condition=Ready pod -l 'app.kubernetes.io/component in (meta,shard,router)' --timeout=300s >/dev/null
}

# The steps in the README of the chart for a machine that is lost for good.
lost_machine() {
  "$here/node.sh" kill 3
  kubectl wait --for=condition=Ready=Unknown node/node-3 --timeout=120s
  kubectl delete node node-3
  local pods
  pods=$(kubectl get pvc -o json | jq -r '.items[] | select(.spec.volumeName // "" | startswith("node-3-")) | .metadata.name | sub("^data-"; "")')
  wait_for 180 "the pods of the lost machine" sh -c "! kubectl get pods -o wide --no-headers | grep -q node-3"
  local lost running=
  # Use ids, because the new nodes have the same names.
  lost=$(status | jq -r --arg pods "$pods" '.nodes[] | select(.name as $n | $pods | split("\n") | index($n)) | .id')
  for pod in $pods; do
    kubectl delete pvc "data-$pod" --wait=false
    # A pod that was removed before has left only its claim.
    if kubectl get pod "$pod" >/dev/null 2>&1; then
      kubectl delete pod "$pod"
      running+=" $pod"
    fi
  done
  for pod in $running; do
    wait_for 60 "a new $pod" kubectl get pod "$pod"
    kubectl wait --for=condition=Ready "pod/$pod" --timeout=300s
  done
  # A node without replicas is removed by itself once the new node with its name has joined.
  for id in $lost; do
    cordwood node decommission "$id" --yes --wait || status | jq -e --arg id "$id" 'all(.nodes[]; .id != $id)'
  done
  wait_for 300 "all replicas on the remaining nodes" tolerates
}

machine_returns() {
  "$here/node.sh" link 3
  "$here/node.sh" up 3
  wait_for 120 node-3 kubectl wait --for=condition=Ready --timeout=1s node/node-3
}

rows() { cordwood sql "SELECT (SELECT count(*) FROM load1_0) + (SELECT count(*) FROM load2_1) AS n" --output csv; }

again() {
  local before
  before=$(rows)
  helm uninstall logs --wait
  kubectl wait --for=delete pod -l 'app.kubernetes.io/instance=logs,app.kubernetes.io/component in (meta,shard,router)' --timeout=180s
  release install --set image.tag=next
  helm test logs >/dev/null
  [ "$(rows)" = "$before" ] || die "$(rows | tail -1) rows, $(tail -1 <<<"$before") before"
}

step "build" "$here/build.sh"
step "three nodes" "$here/up.sh"
step "install and test" install
step "upgrade of all pods" under_load 0 upgrade
step "3, 5 and 3 pods with shards" under_load 0 scale
step "two pods are refused" under_load 0 too_few
step "a machine is drained" under_load 0 drained_machine
step "a machine is lost" under_load 40 lost_machine
step "the machine returns" machine_returns
step "uninstall and install" again
summary+=("all: $((SECONDS - begun)) s")
