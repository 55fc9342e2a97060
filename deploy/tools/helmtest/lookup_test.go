package helmtest

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
)

// kubernetes is a fake Kubernetes cluster with sets of pods.
type kubernetes struct{ client *fake.FakeDynamicClient }

func (k kubernetes) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	return k.client.Resource(gv.WithResource(strings.ToLower(kind) + "s")), true, err
}

// running returns a cluster with these StatefulSets; sets has their numbers of pods by name.
func running(sets map[string]int64) kubernetes {
	var objects []runtime.Object
	for name, replicas := range sets {
		size := map[string]string{"demo-cordwood-meta": "5Gi", "demo-cordwood-shard": "50Gi", "demo-cordwood": "20Gi"}[name]
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": name, "namespace": "logs"},
			"spec": map[string]any{
				"replicas": replicas,
				"volumeClaimTemplates": []any{
					map[string]any{"spec": map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": size}}}},
				},
			},
		}})
	}
	return kubernetes{fake.NewSimpleDynamicClient(runtime.NewScheme(), objects...)}
}

// scaleIn returns the jobs that run before an upgrade, in order.
func scaleIn(objects []metav1.Object) (jobs []*batchv1.Job) {
	for _, o := range objects {
		if j, ok := o.(*batchv1.Job); ok && strings.HasSuffix(j.Name, "-scale-in") {
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b *batchv1.Job) int {
		return cmp.Compare(a.Annotations["helm.sh/hook-weight"], b.Annotations["helm.sh/hook-weight"])
	})
	return jobs
}

func TestScaleInHook(t *testing.T) {
	cluster := "mode: cluster\nmeta: {replicas: 3}\nshard: {replicas: 3}\n"
	for _, c := range []struct {
		name   string
		values string
		live   map[string]int64
		want   bool
	}{
		{"fewer shards", cluster, map[string]int64{"demo-cordwood-meta": 3, "demo-cordwood-shard": 5}, true},
		{"fewer members of the metadata", cluster, map[string]int64{"demo-cordwood-meta": 5, "demo-cordwood-shard": 3}, true},
		{"more shards", cluster, map[string]int64{"demo-cordwood-meta": 3, "demo-cordwood-shard": 1}, true},
		{"as many", cluster, map[string]int64{"demo-cordwood-meta": 3, "demo-cordwood-shard": 3}, false},
		{"fewer, in mode single", "single: {replicas: 1}", map[string]int64{"demo-cordwood": 3}, true},
		{"nobody to ask", cluster, nil, true},
		{"switched off", cluster + "scaleIn: {enabled: false}", map[string]int64{
			"demo-cordwood-meta": 3, "demo-cordwood-shard": 5,
		}, false},
	} {
		r := request{values: c.values, upgrade: true}
		if c.live != nil {
			r.live = running(c.live)
		}
		jobs := scaleIn(decodeAll(t, mustRender(t, r)))
		if (len(jobs) > 0) != c.want {
			t.Errorf("%s: %d jobs before the upgrade", c.name, len(jobs))
		}
		if len(jobs) == 0 {
			continue
		}
		var commands []string
		for _, job := range jobs {
			spec := job.Spec.Template.Spec
			if job.Annotations["helm.sh/hook"] != "pre-upgrade" || spec.RestartPolicy != corev1.RestartPolicyNever {
				t.Errorf("%s: the job is not a hook before the upgrade: %v", c.name, job.Annotations)
			}
			// Helm shows why it failed: the logs of containers, not of init containers.
			if job.Annotations["helm.sh/hook-output-log-policy"] != "hook-failed" || len(spec.InitContainers) > 0 {
				t.Errorf("%s: helm does not show why job %s failed", c.name, job.Name)
			}
			for _, c := range spec.Containers {
				commands = append(commands, strings.Join(c.Args, " "))
			}
		}
		// Shards first: surplus metadata pods still serve the moves.
		want := []string{"node scale demo-cordwood-shard --to=3", "node scale demo-cordwood-meta --to=3"}
		if strings.Contains(c.name, "single") {
			want = []string{"node scale demo-cordwood --to=1"}
		}
		if !slices.Equal(commands, want) {
			t.Errorf("%s: it runs %q, want %q", c.name, commands, want)
		}
	}
}

// TestAutoscaledRouters checks that an upgrade keeps the current number of routers, also when
// autoscaling is turned on.
func TestAutoscaledRouters(t *testing.T) {
	values := "mode: cluster\nrouter: {replicas: 2, autoscaling: {enabled: true}}\n"
	live := kubernetes{fake.NewSimpleDynamicClient(runtime.NewScheme(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{
			"name": "demo-cordwood-router", "namespace": "logs",
		},
		"spec": map[string]any{"replicas": int64(7)},
	}})}
	for _, c := range []struct {
		r    request
		want *int32
	}{
		{request{values: values}, nil},
		{request{values: values, upgrade: true, live: live}, new(int32(7))},
		{request{values: "mode: cluster\nrouter: {replicas: 2}\n", upgrade: true, live: live}, new(int32(2))},
	} {
		for _, o := range decodeAll(t, mustRender(t, c.r)) {
			if d, ok := o.(*appsv1.Deployment); ok && !reflect.DeepEqual(d.Spec.Replicas, c.want) {
				t.Errorf("%s: the deployment has another number of routers than wanted: %v", c.r.values, d.Spec.Replicas)
			}
		}
	}
}

func TestRefusesWhatKubernetesWould(t *testing.T) {
	_, err := render(request{
		upgrade: true, values: "single: {persistence: {size: 40Gi}}", live: running(map[string]int64{"demo-cordwood": 1}),
	})
	if err == nil || !strings.Contains(err.Error(), "--cascade=orphan") || !strings.Contains(err.Error(), "patch pvc") {
		t.Errorf("another size of volumes: %v", err)
	}
	for values, live := range map[string]string{"mode: cluster": "demo-cordwood", "mode: single": "demo-cordwood-shard"} {
		if _, err := render(request{
			upgrade: true, values: values, live: running(map[string]int64{live: 1}),
		}); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
			t.Errorf("%s where %s runs: %v", values, live, err)
		}
	}
}

func TestSeeds(t *testing.T) {
	for values, want := range map[string]int{
		"single: {replicas: 1}": 0, "single: {replicas: 3, bootstrapExpect: 3}": 3,
		"single: {replicas: 7, bootstrapExpect: 3}": 3,
		"mode: cluster": 3, "mode: cluster\nmeta: {replicas: 5, bootstrapExpect: 5}": 5,
		"mode: cluster\nmeta: {replicas: 1, bootstrapExpect: 1}": 1,
	} {
		for _, p := range pods(decodeAll(t, mustRender(t, request{values: values}))) {
			if p.spec.Containers[0].Name != "cordwood" {
				continue
			}
			var seeds []string
			for _, a := range p.spec.Containers[0].Args {
				if text, ok := strings.CutPrefix(a, "--seeds="); ok {
					seeds = strings.Split(text, ",")
				}
			}
			if len(seeds) != want {
				t.Errorf("%q: %s has the seeds %q", values, p.name, seeds)
			}
		}
	}
	// In a cluster that grew from one pod, pod 0 must find the other pods if its volume is empty.
	for _, p := range pods(decodeAll(t, mustRender(t, request{values: "single: {replicas: 3}", upgrade: true}))) {
		if args := strings.Join(p.spec.Containers[0].Args, " "); p.spec.Containers[0].Name == "cordwood" &&
			!strings.Contains(args, "demo-cordwood-2.demo-cordwood-pods.logs.svc.cluster.local:4001") {
			t.Errorf("three pods of a cluster of one founder: %s", args)
		}
	}
}
