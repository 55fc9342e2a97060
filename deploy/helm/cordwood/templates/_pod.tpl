{{/* The pod of a component: dict root, component, roles. */}}
{{- define "cordwood.pod" -}}
{{- $v := .root.Values -}}
{{- $set := index $v .component -}}
{{- $listeners := list -}}
{{- if or (eq .component "single") (eq .component "router") -}}
{{- $listeners = include "cordwood.listeners" .root | fromJsonArray -}}
{{- end -}}
metadata:
  labels:
    {{- include "cordwood.labels" . | nindent 4 }}
  annotations:
    checksum/config: {{ toYaml $v.config | sha256sum }}
    {{- with $set.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "cordwood.fullname" .root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ $v.drain.graceSeconds }}
  securityContext:
    {{- include "cordwood.podSecurity" . | nindent 4 }}
  {{- with $v.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $set.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $set.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $set.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $set.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $v.topologySpread.enabled }}
  topologySpreadConstraints:
    {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - topologyKey: {{ $key }}
      maxSkew: 1
      whenUnsatisfiable: {{ $v.topologySpread.whenUnsatisfiable }}
      labelSelector:
        matchLabels:
          {{- include "cordwood.selector" $ | nindent 10 }}
      {{- if eq $.component "router" }}
      # Ignore the old pods during an upgrade. Otherwise new pods would share machines.
      matchLabelKeys: [pod-template-hash]
      {{- end }}
    {{- end }}
  {{- end }}
  containers:
    - name: cordwood
      image: {{ include "cordwood.image" .root | quote }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      securityContext:
        {{- include "cordwood.containerSecurity" . | nindent 8 }}
      args:
        - serve
        - --data-dir=/data
        - --http-addr=:4000
        - --rpc-addr=:4001
        - --admin-addr=:4002
        - --node-name=$(POD_NAME)
        - --roles={{ .roles }}
        {{- if eq .component "router" }}
        - --advertise-addr=[$(POD_IP)]:4001
        {{- else }}
        - --advertise-addr=$(POD_NAME).{{ include "cordwood.podDomain" . }}:4001
        {{- end }}
        {{- with include "cordwood.seeds" .root }}
        - --seeds={{ . }}
        {{- end }}
        - --meta-bootstrap-expect={{ (ternary $v.single $v.meta (eq $v.mode "single")).bootstrapExpect }}
        - --shards={{ $v.shards }}
        - --replication={{ include "cordwood.replication" .root }}
        - --shutdown-grace={{ sub (sub $v.drain.graceSeconds $v.drain.seconds) 15 }}s
        - --http-hosts={{ include "cordwood.hosts" .root }}
        {{- $addresses := dict }}
        {{- range $listeners }}
        {{- $_ := set $addresses .flag (append (index $addresses .flag | default list) .address) }}
        {{- end }}
        {{- range $flag, $list := $addresses }}
        - {{ printf "--%s=%s" $flag (join "," $list) | quote }}
        {{- end }}
        {{- if $v.config }}
        - --config=/etc/cordwood/config/cordwood.yaml
        {{- end }}
        {{- if $v.auth.existingSecret }}
        - --user-provider=watch_file_user_provider:/etc/cordwood/users/users
        {{- end }}
        {{- if include "cordwood.admin" .root }}
        - --bootstrap-admin={{ $v.auth.admin.name }}
        - --bootstrap-admin-password-file=/etc/cordwood/admin/password
        {{- end }}
        {{- if include "cordwood.oidcSecret" .root }}
        - --oidc-client-secret-file=/etc/cordwood/oidc/client-secret
        {{- end }}
        {{- if $v.tls.users.enabled }}
        - --tls-cert=/etc/cordwood/users-tls/tls.crt
        - --tls-key=/etc/cordwood/users-tls/tls.key
        {{- end }}
        {{- if not $v.tls.nodes.enabled }}
        - --cluster-secret-file=/etc/cordwood/cluster/secret
        {{- end }}
        {{- if eq (include "cordwood.rpcInsecure" .root) "true" }}
        # Until every pod has the secret or the certificates.
        - --rpc-insecure
        {{- end }}
        {{- if $v.tls.nodes.enabled }}
        - --rpc-tls-cert=/etc/cordwood/nodes-tls/tls.crt
        - --rpc-tls-key=/etc/cordwood/nodes-tls/tls.key
        - --rpc-tls-ca=/etc/cordwood/nodes-tls/ca.crt
        {{- if eq $v.mode "cluster" }}
        # Routers are called at the addresses of their pods, which are in no certificate.
        {{- $meta := dict "root" .root "component" "meta" }}
        - --rpc-tls-server-name={{ include "cordwood.component" $meta }}-0.{{ include "cordwood.podDomain" $meta }}
        {{- end }}
        {{- end }}
      env:
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - name: POD_IP
          valueFrom: {fieldRef: {fieldPath: status.podIP}}
        - name: CORDWOOD_ZONE
          {{- if $v.zone }}
          value: {{ $v.zone | quote }}
          {{- else }}
          valueFrom: {fieldRef: {fieldPath: "metadata.labels['topology.kubernetes.io/zone']"}}
          {{- end }}
        # Without zones, replicas of a shard are on different machines.
        - name: CORDWOOD_MACHINE
          valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
        - name: CORDWOOD_CLUSTER_ID
          valueFrom:
            secretKeyRef:
              name: {{ $v.clusterId.existingSecret | default (printf "%s-cluster-id" (include "cordwood.fullname" .root)) }}
              key: id
              optional: {{ empty (or $v.clusterId.existingSecret $v.clusterId.value) }}
        {{- if $v.tls.users.enabled }}
        # For commands of `kubectl exec`.
        - name: CORDWOOD_SERVER
          value: {{ include "cordwood.url" .root }}
        - name: SSL_CERT_DIR
          value: /etc/ssl/certs:/etc/cordwood/users-tls
        {{- end }}
        {{- with $set.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - {name: users, containerPort: 4000}
        - {name: nodes, containerPort: 4001}
        - {name: admin, containerPort: 4002}
        {{- range $listeners }}
        - {name: {{ .name }}, containerPort: {{ .containerPort }}{{ if ne .protocol "TCP" }}, protocol: {{ .protocol }}{{ end }}}
        {{- end }}
      # Replaying logs may take long, but the ports are open before.
      startupProbe:
        httpGet: {path: /health, port: admin}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 240
      # Check only the process: a restart does not cure problems of other components.
      livenessProbe:
        httpGet: {path: /health, port: admin}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /ready, port: admin}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      lifecycle:
        preStop:
          exec: {command: [/usr/bin/cordwood, admin, drain, --wait={{ $v.drain.seconds }}s]}
      resources:
        {{- toYaml $set.resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /data}
        - {name: tmp, mountPath: /tmp}
        {{- if $v.config }}
        - {name: config, mountPath: /etc/cordwood/config, readOnly: true}
        {{- end }}
        {{- if $v.auth.existingSecret }}
        - {name: users, mountPath: /etc/cordwood/users, readOnly: true}
        {{- end }}
        {{- if include "cordwood.admin" .root }}
        - {name: admin, mountPath: /etc/cordwood/admin, readOnly: true}
        {{- end }}
        {{- if include "cordwood.oidcSecret" .root }}
        - {name: oidc, mountPath: /etc/cordwood/oidc, readOnly: true}
        {{- end }}
        {{- if and $listeners $v.listeners.tokenSecret }}
        - {name: listeners, mountPath: /etc/cordwood/listeners, readOnly: true}
        {{- end }}
        {{- if $v.tls.users.enabled }}
        - {name: users-tls, mountPath: /etc/cordwood/users-tls, readOnly: true}
        {{- end }}
        {{- if $v.tls.nodes.enabled }}
        - {name: nodes-tls, mountPath: /etc/cordwood/nodes-tls, readOnly: true}
        {{- else }}
        - {name: cluster-secret, mountPath: /etc/cordwood/cluster, readOnly: true}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if eq .component "router" }}
    - name: data
      emptyDir: {}
    {{- end }}
    {{- if $v.config }}
    - name: config
      configMap: {name: {{ include "cordwood.fullname" .root }}-config}
    {{- end }}
    {{- if $v.auth.existingSecret }}
    - name: users
      secret:
        secretName: {{ $v.auth.existingSecret }}
        defaultMode: 0440
        items: [{key: users, path: users}]
    {{- end }}
    {{- if include "cordwood.admin" .root }}
    - name: admin
      secret:
        secretName: {{ include "cordwood.adminSecret" .root }}
        defaultMode: 0440
        items: [{key: password, path: password}]
    {{- end }}
    {{- if include "cordwood.oidcSecret" .root }}
    - name: oidc
      secret:
        secretName: {{ $v.auth.oidc.existingSecret }}
        defaultMode: 0440
        items: [{key: client-secret, path: client-secret}]
    {{- end }}
    {{- if and $listeners $v.listeners.tokenSecret }}
    - name: listeners
      secret:
        secretName: {{ $v.listeners.tokenSecret }}
        defaultMode: 0440
        items: [{key: user, path: user}]
    {{- end }}
    {{- if $v.tls.users.enabled }}
    - name: users-tls
      secret: {secretName: {{ include "cordwood.usersSecret" .root }}, defaultMode: 0440}
    {{- end }}
    {{- if $v.tls.nodes.enabled }}
    - name: nodes-tls
      secret: {secretName: {{ include "cordwood.nodesSecret" .root }}, defaultMode: 0440}
    {{- else }}
    - name: cluster-secret
      secret:
        secretName: {{ include "cordwood.clusterSecret" .root }}
        defaultMode: 0440
        items: [{key: secret, path: secret}]
    {{- end }}
{{- end -}}

{{/* The pod of a client of the cluster: dict root, component, steps (a list of dict name, args; the
     last step is the container, the others are init containers) and volume (a ConfigMap at /test,
     or empty). */}}
{{- define "cordwood.clientPod" -}}
{{- $v := .root.Values -}}
automountServiceAccountToken: false
enableServiceLinks: false
restartPolicy: Never
securityContext:
  {{- include "cordwood.podSecurity" . | nindent 2 }}
{{- with $v.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $steps := .steps }}
{{- if gt (len $steps) 1 }}
initContainers:
  {{- range initial $steps }}
  {{- include "cordwood.clientContainer" (dict "root" $.root "step" . "volume" $.volume) | nindent 2 }}
  {{- end }}
{{- end }}
containers:
  {{- include "cordwood.clientContainer" (dict "root" .root "step" (last $steps) "volume" .volume) | nindent 2 }}
{{- if or .volume $v.tls.users.enabled }}
volumes:
  {{- with .volume }}
  - name: test
    configMap: {name: {{ . }}}
  {{- end }}
  {{- if $v.tls.users.enabled }}
  - name: users-tls
    secret:
      secretName: {{ include "cordwood.usersSecret" .root }}
      items: [{key: ca.crt, path: ca.crt}]
      optional: true
  {{- end }}
{{- end }}
{{- end -}}

{{- define "cordwood.clientContainer" -}}
{{- $v := .root.Values -}}
- name: {{ .step.name }}
  image: {{ include "cordwood.image" .root | quote }}
  imagePullPolicy: {{ $v.image.pullPolicy }}
  securityContext:
    {{- include "cordwood.containerSecurity" . | nindent 4 }}
  args:
    {{- toYaml .step.args | nindent 4 }}
  env:
    - name: CORDWOOD_SERVER
      value: {{ include "cordwood.url" .root }}
    {{- with include "cordwood.clientSecret" .root }}
    - name: CORDWOOD_USER
      valueFrom: {secretKeyRef: {name: {{ . }}, key: user}}
    {{- end }}
    {{- if $v.tls.users.enabled }}
    # In addition to the system's authorities.
    - name: SSL_CERT_DIR
      value: /etc/ssl/certs:/etc/cordwood/users-tls
    {{- end }}
  resources:
    requests: {cpu: 50m, memory: 64Mi}
    limits: {memory: 256Mi}
  {{- if or .volume $v.tls.users.enabled }}
  volumeMounts:
    {{- if .volume }}
    - {name: test, mountPath: /test, readOnly: true}
    {{- end }}
    {{- if $v.tls.users.enabled }}
    - {name: users-tls, mountPath: /etc/cordwood/users-tls, readOnly: true}
    {{- end }}
  {{- end }}
{{- end -}}
