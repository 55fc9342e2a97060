#!/usr/bin/env bash
# node.sh up|down|kill N: one node, a network namespace with its own containerd, kubelet and
# kube-proxy. `kill` simulates a power failure: all its processes end at once.
. "$(dirname "$0")/env.sh"
do=$1 n=$2 ns=kt$2 D=$K/node-$2
in_ns() { nsenter --net=/run/netns/"$ns" "$@"; } # `ip netns exec` would hide the cgroups

network() {
  ip netns list | grep -qw "$ns" && return
  ip netns add "$ns"
  ip link add "$ns-h" type veth peer name eth0 netns "$ns"
  ip link set "$ns-h" master kt0 up
  in_ns ip link set lo up
  in_ns ip addr add "$(node_ip "$n")/24" dev eth0
  in_ns ip link set eth0 up
  in_ns ip route add default via $HOST
  in_ns sysctl -q -w net.ipv4.ip_forward=1
  in_ns sysctl -q -w net.bridge.bridge-nf-call-iptables=1 2>/dev/null || true
  for other in $NODES; do
    [ "$other" = "$n" ] || in_ns ip route add "10.244.$other.0/24" via "$(node_ip "$other")"
  done
  ip route replace "10.244.$n.0/24" via "$(node_ip "$n")"
}

settings() {
  mkdir -p "$D"/{cni,kubelet,pod-logs,volumes,containerd,state}
  cat >"$D/cni/10-bridge.conflist" <<CNI
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true, "ipMasq": false,
   "ipam": {"type": "host-local", "dataDir": "$D/cni-addresses", "ranges": [[{"subnet": "10.244.$n.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
CNI
  cat >"$D/containerd.toml" <<TOML
version = 2
root = "$D/containerd"
state = "$D/state"
[grpc]
  address = "$D/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  restrict_oom_score_adj = true # needed where root may not lower it, for example in sandboxes
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$D/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
TOML
  echo "nameserver $HOST" >"$D/resolv.conf"
  cat >"$D/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $(node_ip "$n")
healthzBindAddress: 127.0.0.1
readOnlyPort: 0
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: $PKI/ca.crt}}
authorization: {mode: AlwaysAllow}
tlsCertFile: $PKI/node-$n.crt
tlsPrivateKeyFile: $PKI/node-$n.key
cgroupDriver: cgroupfs
cgroupRoot: /kt-$n
cgroupsPerQOS: true
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
podLogsDir: $D/pod-logs
containerRuntimeEndpoint: unix://$D/containerd.sock
clusterDNS: [$HOST]
clusterDomain: cluster.local
resolvConf: $D/resolv.conf
podCIDR: 10.244.$n.0/24
localStorageCapacityIsolation: false
oomScoreAdj: 0
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
YAML
  cat >"$D/proxy.yaml" <<YAML
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: $K/admin.conf}
hostnameOverride: node-$n
mode: iptables
clusterCIDR: 10.244.0.0/16
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
oomScoreAdj: 0
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
YAML
  for c in cpu cpuacct cpuset memory devices freezer blkio pids hugetlb systemd; do
    [ -d /sys/fs/cgroup/$c ] && mkdir -p "/sys/fs/cgroup/$c/kt-$n"
  done
  # Prefer the node's processes over other load of this machine.
  [ ! -f "/sys/fs/cgroup/cpu/kt-$n/cpu.shares" ] || echo 4096 >"/sys/fs/cgroup/cpu/kt-$n/cpu.shares"
  cat /sys/fs/cgroup/cpuset/cpuset.cpus >"/sys/fs/cgroup/cpuset/kt-$n/cpuset.cpus"
  cat /sys/fs/cgroup/cpuset/cpuset.mems >"/sys/fs/cgroup/cpuset/kt-$n/cpuset.mems"
}

# pods prints the process ids of this node's containers, found by their cgroups.
pods() { find "/sys/fs/cgroup/pids/kt-$n" -name cgroup.procs -exec cat {} + 2>/dev/null || true; }

shims() { pgrep -f "containerd-shim-runc-v2 .*-address $D/containerd.sock" || true; }

case $do in
up)
  network
  alive "proxy-$n" || settings # kube-proxy exits when its configuration changes
  start "containerd-$n" nsenter --net=/run/netns/"$ns" containerd --config "$D/containerd.toml"
  wait_for 60 "containerd of node $n" ctr -a "$D/containerd.sock" version
  for image in "$K"/images/*.tar; do
    ctr -a "$D/containerd.sock" -n k8s.io images import "$image" >/dev/null
  done
  start "kubelet-$n" nsenter --net=/run/netns/"$ns" kubelet --config "$D/kubelet.yaml" --kubeconfig "$K/node-$n.conf" \
    --root-dir "$D/kubelet" --hostname-override "node-$n" --node-ip "$(node_ip "$n")" \
    --node-labels "topology.kubernetes.io/zone=zone-$n" --cert-dir "$D/kubelet/pki"
  start "proxy-$n" nsenter --net=/run/netns/"$ns" kube-proxy --config "$D/proxy.yaml"
  ;;
down | kill)
  # As in a power failure, no process may still send anything afterwards.
  [ "$do" = kill ] && ip link set "$ns-h" down
  for p in kubelet containerd proxy; do stop "$p-$n" KILL; done
  for pid in $(shims) $(pods); do kill -KILL "$pid" 2>/dev/null || true; done
  [ "$do" = kill ] && exit 0
  sleep 1
  awk -v d="$D/" 'index($2, d) == 1 {print $2}' /proc/mounts | sort -r | while read -r m; do umount -l "$m"; done
  ip netns pids "$ns" 2>/dev/null | xargs -r kill -KILL || true
  ip netns del "$ns" 2>/dev/null || true
  ip link del "$ns-h" 2>/dev/null || true
  ip route del "10.244.$n.0/24" 2>/dev/null || true
  for c in /sys/fs/cgroup/*/kt-"$n"; do find "$c" -depth -type d -exec rmdir {} \; 2>/dev/null || true; done
  rm -rf "$D/containerd" "$D/state" "$D/kubelet" "$D/pod-logs" "$D/cni-addresses"
  ;;
link) ip link set "$ns-h" up ;; # after kill, before up
*) die "want up, down or kill" ;;
esac
