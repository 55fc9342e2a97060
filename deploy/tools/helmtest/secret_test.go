package helmtest

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
)

// clusterSecret returns the secret of the cluster that the chart creates, or "" if it creates none.
func clusterSecret(t *testing.T, objects []metav1.Object) string {
	t.Helper()
	for _, o := range objects {
		if s, ok := o.(*corev1.Secret); ok && strings.HasSuffix(s.Name, "-cluster") {
			return string(s.Data["secret"])
		}
	}
	return ""
}

// TestClusterSecret checks that the chart creates a secret, keeps an existing one, and creates none if
// nodes have another secret or certificates.
func TestClusterSecret(t *testing.T) {
	first := clusterSecret(t, decodeAll(t, mustRender(t, request{})))
	second := clusterSecret(t, decodeAll(t, mustRender(t, request{})))
	if len(first) != 48 || len(second) != 48 || first == second {
		t.Errorf("the secrets of two releases are %q and %q, want 48 random characters", first, second)
	}
	live := kubernetes{fake.NewSimpleDynamicClient(runtime.NewScheme(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{
			"name": "demo-cordwood-cluster", "namespace": "logs",
		},
		"data": map[string]any{"secret": base64.StdEncoding.EncodeToString([]byte("the one that there is"))},
	}})}
	if got := clusterSecret(t, decodeAll(t, mustRender(t, request{upgrade: true, live: live}))); got != "the one "+
		"that there is" {
		t.Errorf("after an upgrade the secret is %q", got)
	}
	for _, values := range []string{
		"clusterSecret: {existingSecret: mine}", "tls: {nodes: {enabled: true, existingSecret: mine}}",
	} {
		objects := decodeAll(t, mustRender(t, request{values: values}))
		if got := clusterSecret(t, objects); got != "" {
			t.Errorf("%s: the chart makes a secret", values)
		}
		for _, p := range pods(objects) {
			if p.spec.Containers[0].Name == "cordwood" &&
				!slices.ContainsFunc(p.spec.Volumes, func(v corev1.Volume) bool {
					return v.Secret != nil && v.Secret.SecretName == "mine"
				}) {
				t.Errorf("%s: pod %s does not have the secret", values, p.name)
			}
		}
	}
}

// set is a running set of three pods: its volume and argument, and the number of pods that already
// have the newest template.
type set struct {
	kind, name, volume, arg string
	updated                 int64
}

func (s set) object() *unstructured.Unstructured {
	size := map[string]string{"demo-cordwood-meta": "5Gi", "demo-cordwood-shard": "50Gi", "demo-cordwood": "20Gi"}[s.name]
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": s.kind, "metadata": map[string]any{
			"name": s.name, "namespace": "logs", "generation": int64(2),
		},
		"spec": map[string]any{
			"replicas": int64(3),
			"volumeClaimTemplates": []any{
				map[string]any{"spec": map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": size}}}},
			},
			"template": map[string]any{"spec": map[string]any{
				"volumes":    []any{map[string]any{"name": "tmp"}, map[string]any{"name": s.volume}},
				"containers": []any{map[string]any{"name": "cordwood", "args": []any{"serve", s.arg}}},
			}},
		},
		"status": map[string]any{"replicas": int64(3), "updatedReplicas": s.updated, "observedGeneration": int64(2)},
	}}
}

// TestSecretForRunningRelease checks that the upgrade that gives pods a secret or certificates lets
// them accept calls without TLS, and that the upgrade after it does not.
func TestSecretForRunningRelease(t *testing.T) {
	const (
		cluster = "mode: cluster"
		three   = "single: {replicas: 3, bootstrapExpect: 3}"
		files   = "tls: {nodes: {enabled: true, existingSecret: mine}}\n"
		open    = "--rpc-insecure"
	)
	parts := func(volume, arg string, meta, shard, router int64) []set {
		return []set{
			{"StatefulSet", "demo-cordwood-meta", volume, arg, meta}, {
				"StatefulSet", "demo-cordwood-shard", volume,
				arg, shard,
			}, {"Deployment", "demo-cordwood-router", volume, arg, router},
		}
	}
	asked := func(sets []set) kubernetes {
		var objects []runtime.Object
		for _, s := range sets {
			objects = append(objects, s.object())
		}
		return kubernetes{fake.NewSimpleDynamicClient(runtime.NewScheme(), objects...)}
	}
	// Pods with only a secret and pods with only certificates could not call each other.
	for values, volume := range map[string]string{cluster: "nodes-tls", cluster + "\n" + files: "cluster-secret"} {
		if _, err := render(request{
			values: values, upgrade: true, live: asked(parts(volume, "", 3, 3, 3)),
		}); err == nil || !strings.Contains(err.Error(), "clusterSecret.insecure=true first") {
			t.Errorf("%s where pods have %s: %v", values, volume, err)
		}
	}
	for name, c := range map[string]struct {
		values string
		live   []set
		want   bool
	}{
		"a new release":      {cluster, nil, false},
		"the pods have none": {cluster, parts("data", "", 3, 3, 3), true},
		"one kind of pods has none": {
			cluster, append(parts("cluster-secret", open, 3, 3, 3)[:2], parts("data", "", 3, 3, 3)[2:]...), true,
		},
		"they have, and are being replaced": {cluster, parts("cluster-secret", open, 3, 2, 3), true},
		"they have":                         {cluster, parts("cluster-secret", open, 3, 3, 3), false},
		"they have, and take no others":     {cluster, parts("cluster-secret", "", 3, 1, 3), false},
		"to certificates":                   {cluster + "\n" + files, parts("cluster-secret", open, 3, 3, 3), true},
		"they have certificates":            {cluster + "\n" + files, parts("nodes-tls", open, 3, 3, 3), false},
		"back to the secret":                {cluster, parts("nodes-tls", open, 3, 3, 3), true},
		"three pods with every role":        {three, []set{{"StatefulSet", "demo-cordwood", "data", "", 3}}, true},
		"the same, that have it": {
			three,
			[]set{{"StatefulSet", "demo-cordwood", "cluster-secret", open, 3}},
			false,
		},
		"one pod": {
			"single: {replicas: 1}", []set{{"StatefulSet", "demo-cordwood", "data", "", 1}}, false,
		},
		"the values say so": {
			cluster + "\nclusterSecret: {insecure: true}", parts("cluster-secret", "", 3, 3, 3), true,
		},
		"the values say no": {
			cluster + "\nclusterSecret: {insecure: false}", parts("data", "", 3, 3, 3), false,
		},
		"values of a chart that had no secret": {cluster + "\nclusterSecret: null", parts("data", "", 3, 3, 3), true},
	} {
		r := request{values: c.values, upgrade: c.live != nil}
		if c.live != nil {
			r.live = asked(c.live)
		}
		files := mustRender(t, r)
		for _, p := range pods(decodeAll(t, files)) {
			if args := p.spec.Containers[0].Args; p.spec.Containers[0].Name == "cordwood" && args[0] == "serve" &&
				slices.Contains(args, open) != c.want {
				t.Errorf("%s: pod %s is started with %q", name, p.name, args)
			}
		}
		if warns := strings.Contains(strings.Join(files["NOTES.txt"], ""), "calls of nodes without TLS"); warns != c.want {
			t.Errorf("%s: helm warns that the port is open: %v, want %v", name, warns, c.want)
		}
	}
}

// TestAdminSecret checks that the chart makes a secret with the password of the first administrator and keeps an
// existing one, that servers create this administrator, and that clients sign in as this user.
func TestAdminSecret(t *testing.T) {
	const values = "mode: cluster\nauth: {admin: {enabled: true, name: boss}}"
	secretOf := func(objects []metav1.Object) (password, user string) {
		for _, o := range objects {
			if s, ok := o.(*corev1.Secret); ok && s.Name == "demo-cordwood-admin" {
				return string(s.Data["password"]), string(s.Data["user"])
			}
		}
		return "", ""
	}
	files := mustRender(t, request{values: values})
	objects := decodeAll(t, files)
	if password, user := secretOf(objects); len(password) != 32 || user != "boss:"+password {
		t.Errorf("a new secret: password %q, user %q", password, user)
	}
	if notes := strings.Join(files["NOTES.txt"], ""); !strings.Contains(notes, "get secret demo-cordwood-admin") ||
		strings.Contains(notes, "may read and write") {
		t.Errorf("the notes: %s", notes)
	}
	live := kubernetes{fake.NewSimpleDynamicClient(runtime.NewScheme(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{
			"name": "demo-cordwood-admin", "namespace": "logs",
		},
		"data": map[string]any{
			"password": base64.StdEncoding.EncodeToString([]byte("there already")),
			"user":     base64.StdEncoding.EncodeToString([]byte("boss:there already")),
		},
	}})}
	upgraded := decodeAll(t, mustRender(t, request{values: values, upgrade: true, live: live}))
	if password, user := secretOf(upgraded); password != "there already" || user != "boss:there already" {
		t.Errorf("after an upgrade: password %q, user %q", password, user)
	}
	for _, c := range []struct{ values, secret, client string }{
		{values, "demo-cordwood-admin", "demo-cordwood-admin"},
		{"auth: {admin: {enabled: true, name: boss, existingSecret: mine}}", "mine", "mine"},
		{"auth: {admin: {enabled: true, name: boss}, clientSecret: c}", "demo-cordwood-admin", "c"},
	} {
		objects := decodeAll(t, mustRender(t, request{values: c.values}))
		if password, _ := secretOf(objects); (password != "") != (c.secret == "demo-cordwood-admin") {
			t.Errorf("%s: the chart makes a secret: %t", c.values, password != "")
		}
		servers, clients := 0, 0
		for _, p := range pods(objects) {
			first := p.spec.Containers[0]
			if first.Name == "cordwood" && first.Args[0] == "serve" {
				servers++
				if !slices.Contains(first.Args, "--bootstrap-admin=boss") ||
					!slices.Contains(first.Args, "--bootstrap-admin-password-file=/etc/cordwood/admin/password") ||
					!slices.ContainsFunc(p.spec.Volumes, func(v corev1.Volume) bool {
						return v.Secret != nil && v.Secret.SecretName == c.secret
					}) {
					t.Errorf("%s: pod %s: %q", c.values, p.name, first.Args)
				}
			}
			for _, e := range first.Env {
				if e.Name == "CORDWOOD_USER" {
					clients++
					if ref := e.ValueFrom.SecretKeyRef; ref.Name != c.client || ref.Key != "user" {
						t.Errorf("%s: pod %s signs in with %s", c.values, p.name, ref)
					}
				}
			}
		}
		if servers == 0 || clients == 0 {
			t.Errorf("%s: %d pods of servers, %d of clients", c.values, servers, clients)
		}
	}
}
