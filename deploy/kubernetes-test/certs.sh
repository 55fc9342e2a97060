#!/usr/bin/env bash
# Creates certificates and kubeconfigs, with a single authority. All clients are in system:masters.
. "$(dirname "$0")/env.sh"
mkdir -p "$PKI"
cd "$PKI"
[ -f ca.crt ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \
  -keyout ca.key -out ca.crt -subj /CN=kubernetes-test 2>/dev/null

# certificate NAME SUBJECT [NAMES]
certificate() {
  [ -f "$1.crt" ] && return
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out "$1.crt" \
    -extfile <(printf 'extendedKeyUsage=serverAuth,clientAuth\n%s\n' "${3:+subjectAltName=$3}") 2>/dev/null
}

# kubeconfig NAME FILE writes the kubeconfig of a client with the certificate NAME.
kubeconfig() {
  cat >"$2" <<CONF
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://$HOST:6443", certificate-authority: $PKI/ca.crt}}]
users: [{name: u, user: {client-certificate: $PKI/$1.crt, client-key: $PKI/$1.key}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
CONF
}

certificate apiserver /CN=kube-apiserver "IP:$HOST,IP:127.0.0.1,IP:10.96.0.1,DNS:kubernetes,DNS:kubernetes.default.svc"
certificate admin /O=system:masters/CN=admin
for who in controller-manager scheduler; do
  certificate $who "/O=system:masters/CN=system:kube-$who"
  kubeconfig $who "$K/$who.conf"
done
[ -f sa.key ] || openssl genrsa -out sa.key 2048 2>/dev/null
openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
kubeconfig admin "$K/admin.conf"
for n in $NODES; do
  certificate "node-$n" "/O=system:masters/CN=system:node:node-$n" "IP:$(node_ip "$n"),DNS:node-$n"
  kubeconfig "node-$n" "$K/node-$n.conf"
done
