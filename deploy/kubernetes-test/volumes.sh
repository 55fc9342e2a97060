#!/usr/bin/env bash
# Creates a storage class of volumes that are directories of a node, and some volumes of each default size
# of the chart. Like local disks, they stay on their node. Volumes whose claims were deleted are emptied and
# released.
. "$(dirname "$0")/env.sh"
kubectl get pv -o jsonpath='{range .items[?(@.status.phase=="Released")]}{.metadata.name} {.spec.local.path}{"\n"}{end}' |
  while read -r name path; do
    kubectl delete pv "$name" >/dev/null
    rm -rf "$path"
  done
kubectl apply -f - <<YAML >/dev/null
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: local
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
YAML
for n in $NODES; do
  for size in 5 20 50; do
    for i in 1 2 3; do
      path=$K/node-$n/volumes/$size-$i
      mkdir -p "$path"
      cat <<YAML
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: node-$n-$size-$i}
spec:
  capacity: {storage: ${size}Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: local
  local: {path: $path}
  nodeAffinity:
    required:
      nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-$n]}]}]
YAML
    done
  done
done | kubectl apply -f - >/dev/null
