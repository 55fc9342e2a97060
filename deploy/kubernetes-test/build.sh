#!/usr/bin/env bash
# Builds the programs for up.sh, in pinned versions from the Go module proxy, and the images. The first build
# takes half an hour on two cores. Programs of Kubernetes that exist are not built again.
. "$(dirname "$0")/env.sh"
V=1.34.4 DNS=1.12.4 HELM=3.18.6
mkdir -p "$K/build" "$K/dns" "$K/helm" "$BIN" "$K/images"

missing() { for c in "$@"; do [ -x "$BIN/$c" ] || return 0; done; return 1; }
parts="kube-apiserver kubelet kube-controller-manager kube-scheduler kube-proxy kubectl"

kubernetes() {
  # Kubernetes' own go.mod replaces modules by folders of its tree: use their versions instead.
  cd "$K/build"
  printf 'module build\n\ngo 1.24\n' >go.mod
  go mod download k8s.io/kubernetes@v$V
  D=$(go env GOMODCACHE)/k8s.io/kubernetes@v$V
  python3 - "$D" "0.${V#1.}" "$V" >go.mod.new <<'PY'
import re, sys
d, v, kubernetes = sys.argv[1:]
g = open(d + "/go.mod").read()
mods = sorted(set(re.findall(r"(k8s\.io/\S+) => \./staging", g) or re.findall(r"(k8s\.io/\S+) v0\.0\.0", g)))
req = g[g.index("require ("):].split("replace (")[0]
req = re.sub(r"(k8s\.io/\S+) v0\.0\.0(?=\s)", r"\1 v" + v, req)
print("module build\n\ngo", re.search(r"^go (\S+)", g, re.M).group(1))
print(f"\nrequire k8s.io/kubernetes v{kubernetes}\n\n{req}\nreplace (")
print("".join(f"\t{m} => {m} v{v}\n" for m in mods) + ")")
PY
  mv go.mod.new go.mod
  cp "$D/go.sum" .
  for c in $parts; do
    X=k8s.io/component-base/version
    go build -mod=mod -ldflags "-s -w -X $X.gitVersion=v$V -X $X.gitMajor=1 -X $X.gitMinor=34" -o "$BIN/$c" "k8s.io/kubernetes/cmd/$c"
  done
}

dns() {
  cd "$K/dns"
  cp "$here/dns/main.go.txt" main.go
  printf 'module dns\n\ngo 1.24\n' >go.mod
  go get github.com/coredns/coredns@v$DNS
  go build -mod=mod -ldflags "-s -w" -o "$BIN/coredns" .
}

helm_program() {
  cd "$K/helm"
  printf 'module helm\n\ngo 1.24\n' >go.mod
  go get helm.sh/helm/v3/cmd/helm@v$HELM
  # Without these, `helm template` assumes a Kubernetes that is too old for the chart.
  X=helm.sh/helm/v3/pkg
  for package in $X/chartutil $X/lint/rules; do
    flags="${flags:-} -X $package.k8sVersionMajor=1 -X $package.k8sVersionMinor=$(cut -d. -f2 <<<$V)"
  done
  go build -mod=mod -ldflags "-s -w$flags" -o "$BIN/helm" helm.sh/helm/v3/cmd/helm
}

! missing $parts || kubernetes
! missing coredns || dns
! missing helm || helm_program
cd "$here/../.."
CGO_ENABLED=0 go build -o "$BIN/kube-load" ./deploy/kubernetes-test/load
"$here/pause.sh"
make image
cp dist/image.tar "$K/images/cordwood.tar"
