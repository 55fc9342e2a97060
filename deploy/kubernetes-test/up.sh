#!/usr/bin/env bash
# Starts a Kubernetes of three nodes on this machine. See README.md.
. "$(dirname "$0")/env.sh"
[ "$(id -u)" = 0 ] || die "needs root, for network namespaces and mounts"
for b in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl coredns; do
  [ -x "$BIN/$b" ] || die "no $BIN/$b: run build.sh first"
done
for b in containerd runc etcd iptables conntrack nsenter openssl; do
  command -v $b >/dev/null || die "no $b: apt-get install containerd runc etcd-server iptables conntrack util-linux openssl containernetworking-plugins"
done
"$here/certs.sh"

# Kubelets change these; down.sh restores them.
[ -f "$K/sysctls" ] || sysctl vm.overcommit_memory kernel.panic kernel.panic_on_oops net.ipv4.ip_forward | tr -d ' ' >"$K/sysctls"
sysctl -q -w net.ipv4.ip_forward=1

ip link show kt0 >/dev/null 2>&1 || { ip link add kt0 type bridge && ip addr add $HOST/24 dev kt0 && ip link set kt0 up; }
# Docker's firewall rules drop forwarded packets of other bridges.
iptables -C FORWARD -i kt0 -o kt0 -j ACCEPT 2>/dev/null || iptables -I FORWARD -i kt0 -o kt0 -j ACCEPT

start etcd etcd --data-dir "$K/etcd" --listen-client-urls http://127.0.0.1:23790 --advertise-client-urls http://127.0.0.1:23790 \
  --listen-peer-urls http://127.0.0.1:23800 --initial-advertise-peer-urls http://127.0.0.1:23800 \
  --initial-cluster default=http://127.0.0.1:23800 --unsafe-no-fsync --logger zap
start apiserver kube-apiserver --etcd-servers http://127.0.0.1:23790 --bind-address $HOST --advertise-address $HOST --secure-port 6443 \
  --tls-cert-file "$PKI/apiserver.crt" --tls-private-key-file "$PKI/apiserver.key" --client-ca-file "$PKI/ca.crt" \
  --kubelet-client-certificate "$PKI/admin.crt" --kubelet-client-key "$PKI/admin.key" \
  --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$PKI/sa.pub" \
  --service-account-signing-key-file "$PKI/sa.key" --service-cluster-ip-range 10.96.0.0/16 --kubelet-preferred-address-types InternalIP \
  --authorization-mode RBAC --allow-privileged=true
wait_for 300 "the API server" kubectl get --raw /readyz
start controller-manager kube-controller-manager --kubeconfig "$K/controller-manager.conf" --bind-address 127.0.0.1 \
  --service-account-private-key-file "$PKI/sa.key" --root-ca-file "$PKI/ca.crt" --use-service-account-credentials=false \
  --cluster-signing-cert-file "$PKI/ca.crt" --cluster-signing-key-file "$PKI/ca.key" \
  --leader-elect=false --controllers '*,-nodeipam,-route,-cloud-node-lifecycle'
start scheduler kube-scheduler --kubeconfig "$K/scheduler.conf" --bind-address 127.0.0.1 --leader-elect=false
cat >"$K/Corefile" <<CORE
.:53 {
    bind $HOST
    errors
    kubernetes cluster.local in-addr.arpa {
        kubeconfig $K/admin.conf x
        ttl 5
    }
    cache 5
}
CORE
start coredns coredns -conf "$K/Corefile"
for n in $NODES; do "$here/node.sh" up "$n"; done
for n in $NODES; do wait_for 180 "node-$n" kubectl wait --for=condition=Ready --timeout=1s "node/node-$n"; done
"$here/volumes.sh"
kubectl get nodes -o wide
