{{- define "cordwood.fullname" -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride }}
{{- else if contains .Chart.Name .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{/* The name of the pods of a component: dict root, component. */}}
{{- define "cordwood.component" -}}
{{- if eq .component "single" }}{{ include "cordwood.fullname" .root }}{{ else }}{{ include "cordwood.fullname" .root }}-{{ .component }}{{ end -}}
{{- end -}}

{{/* The DNS domain of a component's pods. */}}
{{- define "cordwood.podDomain" -}}
{{ include "cordwood.component" . }}-pods.{{ .root.Release.Namespace }}.svc.{{ .root.Values.clusterDomain }}
{{- end -}}

{{- define "cordwood.selector" -}}
app.kubernetes.io/name: cordwood
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "cordwood.labels" -}}
{{ include "cordwood.selector" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Values.image.tag | default .root.Chart.AppVersion | trunc 63 | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "cordwood.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end -}}

{{/* The components with a StatefulSet of pods, separated by spaces. */}}
{{- define "cordwood.sets" -}}
{{ if eq .Values.mode "single" }}single{{ else }}meta shard{{ end }}
{{- end -}}

{{/* The separate ports of enabled protocols, including PostgreSQL: a list of name, flag, containerPort, protocol, address (with parameters)
     and port (the port of the service). Protocols without HTTP have a scheme, and store logs with the rights of a token's user. */}}
{{- define "cordwood.listeners" -}}
{{- $all := list
  (dict "key" "elasticsearch" "name" "elasticsearch" "flag" "elasticsearch-addr" "containerPort" 9200)
  (dict "key" "loki" "name" "loki" "flag" "loki-addr" "containerPort" 3100)
  (dict "key" "splunk" "name" "splunk" "flag" "splunk-addr" "containerPort" 8088)
  (dict "key" "otlpHttp" "name" "otlp-http" "flag" "otlp-http-addr" "containerPort" 4318)
  (dict "key" "otlpGrpc" "name" "otlp-grpc" "flag" "otlp-grpc-addr" "containerPort" 4317)
  (dict "key" "datadog" "name" "datadog" "flag" "datadog-addr" "containerPort" 8282)
  (dict "key" "journald" "name" "journald" "flag" "journald-addr" "containerPort" 19532)
  (dict "key" "syslogUdp" "name" "syslog-udp" "flag" "syslog-addr" "scheme" "udp://" "protocol" "UDP" "containerPort" 5514 "port" 514)
  (dict "key" "syslogTcp" "name" "syslog-tcp" "flag" "syslog-addr" "scheme" "tcp://" "containerPort" 5514 "port" 514)
  (dict "key" "syslogTls" "name" "syslog-tls" "flag" "syslog-addr" "scheme" "tls://" "containerPort" 6514)
  (dict "key" "gelfUdp" "name" "gelf-udp" "flag" "gelf-addr" "scheme" "udp://" "protocol" "UDP" "containerPort" 12201)
  (dict "key" "gelfTcp" "name" "gelf-tcp" "flag" "gelf-addr" "scheme" "tcp://" "containerPort" 12201)
  (dict "key" "forward" "name" "forward" "flag" "forward-addr" "scheme" "tcp://" "containerPort" 24224)
  (dict "key" "forwardTls" "name" "forward-tls" "flag" "forward-addr" "scheme" "tls://" "containerPort" 24225)
  (dict "key" "postgresql" "name" "postgresql" "flag" "pg-addr" "containerPort" 5432) -}}
{{- $given := .Values.listeners | default dict -}}
{{- $on := list -}}
{{- range $all -}}
{{- $l := index $given .key | default dict -}}
{{- if $l.enabled -}}
{{- $params := list -}}
{{- if $l.params -}}{{- $params = append $params $l.params -}}{{- end -}}
{{- if and .scheme $given.tokenSecret -}}{{- $params = append $params "token-file=/etc/cordwood/listeners/user" -}}{{- end -}}
{{- $address := printf "%s:%v%s" (.scheme | default "") .containerPort (ternary (printf "?%s" (join "&" $params)) "" (gt (len $params) 0)) -}}
{{- $port := $l.port | default .port | default .containerPort -}}
{{- $on = append $on (merge (dict "port" $port "protocol" (.protocol | default "TCP") "address" $address) .) -}}
{{- end -}}
{{- end -}}
{{ toJson $on }}
{{- end -}}

{{/* The seeds. They are names of pods, not the name of the service, so that a restarting pod is
     missed and no cluster is founded without it. */}}
{{- define "cordwood.seeds" -}}
{{- $component := ternary "single" "meta" (eq .Values.mode "single") -}}
{{- $set := index .Values $component -}}
{{- $replicas := int $set.replicas -}}
{{- $n := max (int $set.bootstrapExpect) (min 3 $replicas) -}}
{{- $d := dict "root" . "component" $component -}}
{{- $seeds := list -}}
{{- range $i := until (int $n) -}}
{{- $seeds = append $seeds (printf "%s-%d.%s:4001" (include "cordwood.component" $d) $i (include "cordwood.podDomain" $d)) -}}
{{- end -}}
{{- if or (ne $component "single") (gt (int $n) 1) }}{{ join "," $seeds }}{{ end -}}
{{- end -}}

{{- define "cordwood.replication" -}}
{{- if .Values.replication }}{{ .Values.replication }}
{{- else }}{{ ternary 3 1 (ge (int (ternary .Values.single.replicas .Values.shard.replicas (eq .Values.mode "single"))) 3) }}
{{- end -}}
{{- end -}}

{{- define "cordwood.usersSecret" -}}
{{ .Values.tls.users.existingSecret | default (printf "%s-users-tls" (include "cordwood.fullname" .)) }}
{{- end -}}

{{- define "cordwood.nodesSecret" -}}
{{ .Values.tls.nodes.existingSecret | default (printf "%s-nodes-tls" (include "cordwood.fullname" .)) }}
{{- end -}}

{{/* The name of the cluster's secret. The value may be missing: `--reuse-values` keeps the values of an older chart. */}}
{{- define "cordwood.clusterSecret" -}}
{{ (.Values.clusterSecret | default dict).existingSecret | default (printf "%s-cluster" (include "cordwood.fullname" .)) }}
{{- end -}}

{{/* Whether there is a first administrator in the metadata. */}}
{{- define "cordwood.admin" -}}
{{ if (.Values.auth.admin | default dict).enabled }}true{{ end }}
{{- end -}}

{{/* Whether users authenticate. */}}
{{- define "cordwood.users" -}}
{{ if or .Values.auth.existingSecret (include "cordwood.admin" .) }}true{{ end }}
{{- end -}}

{{/* The name of the secret of the administrator. */}}
{{- define "cordwood.adminSecret" -}}
{{ .Values.auth.admin.existingSecret | default (printf "%s-admin" (include "cordwood.fullname" .)) }}
{{- end -}}

{{/* The name of the secret of the server at the OIDC provider, or nothing. */}}
{{- define "cordwood.oidcSecret" -}}
{{ (.Values.auth.oidc | default dict).existingSecret }}
{{- end -}}

{{/* The name of the secret with the user of hooks, jobs and the test, or nothing. */}}
{{- define "cordwood.clientSecret" -}}
{{ if .Values.auth.clientSecret }}{{ .Values.auth.clientSecret }}{{ else if include "cordwood.admin" . }}{{ include "cordwood.adminSecret" . }}{{ end }}
{{- end -}}

{{/* Whether the chart makes the secret of the cluster. */}}
{{- define "cordwood.ownClusterSecret" -}}
{{ not (or .Values.tls.nodes.enabled (.Values.clusterSecret | default dict).existingSecret) }}
{{- end -}}

{{/* Whether pods also accept calls of nodes without TLS. If the values do not set it: true while running pods may
     lack the secret or the certificates that the new pods require. Pods of an older chart have neither. A single
     pod receives no calls of nodes. */}}
{{- define "cordwood.rpcInsecure" -}}
{{- $given := (.Values.clusterSecret | default dict).insecure -}}
{{- $insecure := false -}}
{{- if not (kindIs "invalid" $given) -}}
{{- $insecure = $given -}}
{{- else if not (and (eq .Values.mode "single") (eq (int .Values.single.replicas) 1)) -}}
{{- $needed := ternary "nodes-tls" "cluster-secret" .Values.tls.nodes.enabled -}}
{{- $other := ternary "cluster-secret" "nodes-tls" .Values.tls.nodes.enabled -}}
{{- $kinds := list (list "StatefulSet" "single") -}}
{{- if eq .Values.mode "cluster" -}}
{{- $kinds = list (list "StatefulSet" "meta") (list "StatefulSet" "shard") (list "Deployment" "router") -}}
{{- end -}}
{{- range $k := $kinds -}}
{{- $live := lookup "apps/v1" (first $k) $.Release.Namespace (include "cordwood.component" (dict "root" $ "component" (last $k))) -}}
{{- if $live -}}
{{- $pod := dig "spec" "template" "spec" dict $live -}}
{{- $has := false -}}
{{- $hasOther := false -}}
{{- range $pod.volumes -}}
{{- if eq .name $needed -}}{{- $has = true -}}{{- end -}}
{{- if eq .name $other -}}{{- $hasOther = true -}}{{- end -}}
{{- end -}}
{{- $open := false -}}
{{- range $pod.containers -}}{{- if has "--rpc-insecure" (.args | default list) -}}{{- $open = true -}}{{- end -}}{{- end -}}
{{- if and $hasOther (not $open) -}}
{{- fail "running pods and new pods would refuse each other's calls, because one of them uses the secret of the cluster and the other tls.nodes: upgrade with the previous values and clusterSecret.insecure=true first, then with these values, and set it to null when all pods are replaced" -}}
{{- end -}}
{{- $status := $live.status | default dict -}}
{{- $rolled := and (eq (int $status.updatedReplicas) (int $live.spec.replicas)) (eq (int $status.replicas) (int $live.spec.replicas)) (ge (int $status.observedGeneration) (int (dig "metadata" "generation" 0 $live))) -}}
{{- if or (not $has) (and $open (not $rolled)) -}}{{- $insecure = true -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{ $insecure }}
{{- end -}}

{{- define "cordwood.url" -}}
{{ ternary "https" "http" .Values.tls.users.enabled }}://{{ include "cordwood.fullname" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}:{{ .Values.service.port }}
{{- end -}}

{{/* The host names that servers without users accept from browsers and from sidecars in the pod. */}}
{{- define "cordwood.hosts" -}}
{{- $name := include "cordwood.fullname" . -}}
{{- $in := printf "%s.%s" $name .Release.Namespace -}}
{{- $hosts := list $name $in (printf "%s.svc" $in) (printf "%s.svc.%s" $in .Values.clusterDomain) -}}
{{- $hosts = concat $hosts .Values.ingress.hosts .Values.tls.users.dnsNames ((.Values.config.http | default dict).hosts | default list) -}}
{{ join "," (uniq $hosts) }}
{{- end -}}

{{- define "cordwood.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "cordwood.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Fails if values contradict each other, which the schema cannot check. */}}
{{- define "cordwood.check" -}}
{{- $v := .Values -}}
{{- $holders := int (ternary $v.single.replicas $v.shard.replicas (eq $v.mode "single")) -}}
{{- if gt (int $v.replication) $holders -}}{{/* null is 0 */}}
{{- fail (printf "replication %d needs as many pods with shards, and there are %d: raise %s.replicas or lower replication" (int $v.replication) $holders (ternary "single" "shard" (eq $v.mode "single"))) -}}
{{- end -}}
{{- $founders := ternary $v.single $v.meta (eq $v.mode "single") -}}
{{- if .Release.IsInstall -}}
{{- if gt (int $founders.bootstrapExpect) (int $founders.replicas) -}}
{{- fail (printf "bootstrapExpect %d: the number of pods is only %d" (int $founders.bootstrapExpect) (int $founders.replicas)) -}}
{{- end -}}
{{- if and (gt (int $founders.replicas) 1) (eq (int $founders.bootstrapExpect) 1) -}}
{{- fail "several pods and bootstrapExpect 1: a metadata group of one pod tolerates no failure; set bootstrapExpect to 3, or start with one pod" -}}
{{- end -}}
{{- end -}}
{{- if and $v.auth.existingSecret (not (include "cordwood.clientSecret" .)) -}}
{{- fail "auth.existingSecret needs auth.clientSecret: the hooks and the test have to sign in" -}}
{{- end -}}
{{- range $what := list "users" "nodes" -}}
{{- $t := index $v.tls $what -}}
{{- if and $t.enabled (not $t.existingSecret) -}}
{{- if not $v.tls.certManager.enabled -}}
{{- fail (printf "tls.%s.enabled needs tls.%s.existingSecret, or tls.certManager" $what $what) -}}
{{- end -}}
{{- if not $v.tls.certManager.issuerRef.name -}}
{{- fail "tls.certManager.enabled needs tls.certManager.issuerRef.name" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if lt (int $v.drain.graceSeconds) (add (int $v.drain.seconds) 25 | int) -}}
{{- fail (printf "drain.graceSeconds %d: want at least 25 more than drain.seconds, to transfer the pod's leaderships and write its rows" (int $v.drain.graceSeconds)) -}}
{{- end -}}
{{- if hasKey ($v.config.http | default dict) "enable-cors" -}}
{{- fail "config.http.enable-cors no longer exists: remove it; pages of other sites are refused unless config.http.cors-allowed-origins lists their origins" -}}
{{- end -}}
{{- if hasKey ($v.config.http | default dict) "protect-config" -}}
{{- fail "config.http.protect-config no longer exists: remove it; if there are users, /config always needs a user that may read" -}}
{{- end -}}
{{- if and (include "cordwood.admin" .) (index $v.config "bootstrap-admin") -}}
{{- fail "auth.admin.enabled and config.bootstrap-admin: set one of them" -}}
{{- end -}}
{{- if and (not (include "cordwood.users" .)) (eq (toString (index $v.config "metrics-open")) "false") -}}
{{- fail "config.metrics-open=false needs auth.existingSecret or auth.admin: without users, clients cannot be distinguished" -}}
{{- end -}}
{{- $issuer := ($v.config.oidc | default dict).issuer -}}
{{- if and $issuer (not (include "cordwood.users" .)) -}}
{{- fail "config.oidc.issuer needs auth.admin or auth.existingSecret: the hooks and the test have to sign in" -}}
{{- end -}}
{{- if and (include "cordwood.oidcSecret" .) (not $issuer) -}}
{{- fail "auth.oidc.existingSecret needs config.oidc.issuer" -}}
{{- end -}}
{{- range include "cordwood.listeners" . | fromJsonArray -}}
{{- if and .scheme (include "cordwood.users" $) (not (contains "token-file=" .address)) -}}
{{- fail (printf "listeners.%s needs listeners.tokenSecret: there are users, and the protocol does not authenticate any" .key) -}}
{{- end -}}
{{- if and (eq (.scheme | default "") "tls://") (not $v.tls.users.enabled) -}}
{{- fail (printf "listeners.%s needs tls.users" .key) -}}
{{- end -}}
{{- end -}}
{{- if and $v.ingress.enabled (not $v.ingress.hosts) -}}
{{- fail "ingress.enabled needs ingress.hosts" -}}
{{- end -}}
{{- $other := ternary (printf "%s-shard" (include "cordwood.fullname" .)) (include "cordwood.fullname" .) (eq $v.mode "single") -}}
{{- if lookup "apps/v1" "StatefulSet" .Release.Namespace $other -}}
{{- fail (printf "mode %s: StatefulSet %s of the other mode exists, and its pods have rows: the mode of a release cannot be changed; install a second release, and move the rows by backup and restore" $v.mode $other) -}}
{{- end -}}
{{- end -}}
