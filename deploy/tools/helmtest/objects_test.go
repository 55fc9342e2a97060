package helmtest

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
)

func decodeAll(t *testing.T, files map[string][]string) []metav1.Object {
	t.Helper()
	var out []metav1.Object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name == "NOTES.txt" {
			continue
		}
		for _, doc := range files[name] {
			o, err := decode(doc)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, doc)
			}
			out = append(out, o)
		}
	}
	return out
}

// pod is a pod, or the pod template of a controller.
type pod struct {
	name   string
	labels map[string]string
	spec   *corev1.PodSpec
	claims []string // volumes that a StatefulSet adds
}

func pods(objects []metav1.Object) []pod {
	var out []pod
	for _, o := range objects {
		switch o := o.(type) {
		case *appsv1.StatefulSet:
			p := pod{o.Name, o.Spec.Template.Labels, &o.Spec.Template.Spec, nil}
			for _, c := range o.Spec.VolumeClaimTemplates {
				p.claims = append(p.claims, c.Name)
			}
			out = append(out, p)
		case *appsv1.Deployment:
			out = append(out, pod{o.Name, o.Spec.Template.Labels, &o.Spec.Template.Spec, nil})
		case *batchv1.Job:
			out = append(out, pod{o.Name, o.Spec.Template.Labels, &o.Spec.Template.Spec, nil})
		case *batchv1.CronJob:
			tmpl := o.Spec.JobTemplate.Spec.Template
			out = append(out, pod{o.Name, tmpl.Labels, &tmpl.Spec, nil})
		case *corev1.Pod:
			out = append(out, pod{o.Name, o.Labels, &o.Spec, nil})
		}
	}
	return out
}

// each runs a test on the objects of every value set.
func each(t *testing.T, f func(t *testing.T, objects []metav1.Object)) {
	for _, name := range sets {
		t.Run(name, func(t *testing.T) { f(t, decodeAll(t, mustRender(t, request{values: setValues(t, name)}))) })
	}
}

func TestStrictDecoding(t *testing.T) {
	if _, err := decode("apiVersion: v1\nkind: Service\nmetadata: {name: x}\n" +
		"spec: {publishNotReadyAddress: true}\n"); err == nil {
		t.Error("an unknown field is accepted")
	}
	if _, err := decode("apiVersion: v1\nkind: Service\nmetadata: {name: x}\n" +
		"spec: {clusterIP: None, clusterIP: None}\n"); err == nil {
		t.Error("a repeated field is accepted")
	}
}

func TestNames(t *testing.T) {
	each(t, func(t *testing.T, objects []metav1.Object) {
		seen := map[string]bool{}
		for _, o := range objects {
			key := fmt.Sprintf("%T %s", o, o.GetName())
			if seen[key] || o.GetName() == "" {
				t.Errorf("%s is defined twice, or has no name", key)
			}
			seen[key] = true
			if o.GetNamespace() != "logs" {
				t.Errorf("%s is in namespace %q", key, o.GetNamespace())
			}
			if o.GetLabels()["app.kubernetes.io/instance"] != "demo" {
				t.Errorf("%s has no label of its release", key)
			}
			for k, v := range o.GetLabels() {
				if bad := append(validation.IsQualifiedName(k), validation.IsValidLabelValue(v)...); len(bad) > 0 {
					t.Errorf("%s: label %s=%s: %v", key, k, v, bad)
				}
			}
		}
	})
}

func TestSelectorsMatchPods(t *testing.T) {
	each(t, func(t *testing.T, objects []metav1.Object) {
		all := pods(objects)
		// matched returns the names of the pods that a selector matches.
		matched := func(selector map[string]string) (found []string) {
			for _, p := range all {
				if labels.SelectorFromSet(selector).Matches(labels.Set(p.labels)) {
					found = append(found, p.name)
				}
			}
			return found
		}
		one := func(what string, selector map[string]string, want string) {
			if got := matched(selector); !slices.Equal(got, []string{want}) {
				t.Errorf("%s selects %v, and should select the pods of %s alone", what, got, want)
			}
		}
		services := map[string]*corev1.Service{}
		for _, o := range objects {
			if s, ok := o.(*corev1.Service); ok {
				services[s.Name] = s
				if found := matched(s.Spec.Selector); len(found) != 1 {
					t.Errorf("service %s selects %v", s.Name, found)
				}
			}
		}
		for _, o := range objects {
			switch o := o.(type) {
			case *appsv1.StatefulSet:
				one("StatefulSet", o.Spec.Selector.MatchLabels, o.Name)
				s := services[o.Spec.ServiceName]
				if s == nil || s.Spec.ClusterIP != "None" || !s.Spec.PublishNotReadyAddresses {
					t.Errorf("StatefulSet %s: service %s is not headless, or hides pods that are not ready", o.Name,
						o.Spec.ServiceName)
				} else {
					one("service of the StatefulSet", s.Spec.Selector, o.Name)
				}
				if o.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
					t.Errorf("StatefulSet %s starts its pods one after the other, and they wait for each other", o.Name)
				}
				if o.Spec.PersistentVolumeClaimRetentionPolicy == nil {
					t.Errorf("StatefulSet %s does not say what becomes of its volumes", o.Name)
				}
			case *appsv1.Deployment:
				one("Deployment", o.Spec.Selector.MatchLabels, o.Name)
				for _, c := range o.Spec.Template.Spec.TopologySpreadConstraints {
					if !slices.Equal(c.MatchLabelKeys, []string{appsv1.DefaultDeploymentUniqueLabelKey}) {
						t.Errorf("Deployment %s: pods of the version before count when new ones are spread over %s",
							o.Name, c.TopologyKey)
					}
				}
			case *policyv1.PodDisruptionBudget:
				one("PodDisruptionBudget", o.Spec.Selector.MatchLabels, o.Name)
			case *networkingv1.NetworkPolicy:
				if got := matched(o.Spec.PodSelector.MatchLabels); len(got) != len(all) {
					t.Errorf("NetworkPolicy %s is for %v, and should be for all pods", o.Name, got)
				}
			case *serviceMonitor:
				scraped := map[string]bool{}
				for _, s := range services {
					if labels.SelectorFromSet(o.Spec.Selector.MatchLabels).Matches(labels.Set(s.Labels)) {
						for _, p := range matched(s.Spec.Selector) {
							if scraped[p] {
								t.Errorf("the pods of %s are scraped twice", p)
							}
							scraped[p] = true
						}
						if !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
							return p.Name == o.Spec.Endpoints[0].Port
						}) {
							t.Errorf("service %s has no port %s to scrape", s.Name, o.Spec.Endpoints[0].Port)
						}
					}
				}
				for _, p := range all {
					if p.spec.Containers[0].Name == "cordwood" && !scraped[p.name] {
						t.Errorf("the pods of %s are not scraped", p.name)
					}
				}
			case *autoscalingv2.HorizontalPodAutoscaler:
				for _, d := range objects {
					if d, ok := d.(*appsv1.Deployment); ok && (d.Name != o.Spec.ScaleTargetRef.Name || d.Spec.Replicas != nil) {
						t.Errorf("Deployment %s has replicas of its own, or is not the target %s", d.Name, o.Spec.ScaleTargetRef.Name)
					}
				}
			case *networkingv1.Ingress:
				for _, r := range o.Spec.Rules {
					for _, p := range r.HTTP.Paths {
						if services[p.Backend.Service.Name] == nil {
							t.Errorf("the ingress leads to service %s, which does not exist", p.Backend.Service.Name)
						}
					}
				}
			}
		}
	})
}

func TestPortsAreNamed(t *testing.T) {
	each(t, func(t *testing.T, objects []metav1.Object) {
		named := map[string]bool{}
		for _, p := range pods(objects) {
			for _, c := range p.spec.Containers {
				for _, port := range c.Ports {
					if port.Name == "" || len(port.Name) > 15 {
						t.Errorf("%s has a port with the name %q", p.name, port.Name)
					}
					named[port.Name] = true
				}
			}
		}
		known := func(what string, port intstr.IntOrString) {
			if port.Type != intstr.String || !named[port.StrVal] {
				t.Errorf("%s leads to port %s, which no container has", what, port.String())
			}
		}
		for _, o := range objects {
			switch o := o.(type) {
			case *corev1.Service:
				for _, p := range o.Spec.Ports {
					known("service "+o.Name, p.TargetPort)
				}
			case *networkingv1.NetworkPolicy:
				for _, rule := range o.Spec.Ingress {
					for _, p := range rule.Ports {
						known("policy "+o.Name, *p.Port)
						if p.Port.StrVal == "admin" {
							t.Error("the NetworkPolicy opens the administrator's port")
						}
						if p.Port.StrVal == "nodes" && len(rule.From) == 0 {
							t.Error("the NetworkPolicy opens the port between nodes to everybody")
						}
					}
				}
			}
		}
	})
}

func TestServersHaveProbes(t *testing.T) {
	each(t, func(t *testing.T, objects []metav1.Object) {
		servers := 0
		for _, p := range pods(objects) {
			c := p.spec.Containers[0]
			if c.Name != "cordwood" {
				continue
			}
			servers++
			for what, probe := range map[string]struct {
				probe *corev1.Probe
				path  string
			}{
				"startup": {c.StartupProbe, "/health"}, "liveness": {c.LivenessProbe, "/health"},
				"readiness": {c.ReadinessProbe, "/ready"},
			} {
				if probe.probe == nil || probe.probe.HTTPGet == nil || probe.probe.HTTPGet.Path != probe.path ||
					probe.probe.HTTPGet.Port.StrVal != "admin" {
					t.Errorf("%s: the %s probe is %v", p.name, what, probe.probe)
				}
			}
			if s := c.StartupProbe; s != nil && s.PeriodSeconds*s.FailureThreshold < 600 {
				t.Errorf("%s has %d s to start", p.name, s.PeriodSeconds*s.FailureThreshold)
			}
			if c.Lifecycle == nil || c.Lifecycle.PreStop == nil || c.Lifecycle.PreStop.Exec == nil ||
				!strings.HasPrefix(strings.Join(c.Lifecycle.PreStop.Exec.Command, " "), "/usr/bin/cordwood admin drain --wait=") {
				t.Errorf("%s is not drained before it stops", p.name)
			}
			if g := p.spec.TerminationGracePeriodSeconds; g == nil || *g < 60 {
				t.Errorf("%s has no time to stop", p.name)
			}
			if c.Resources.Requests.Cpu().IsZero() || c.Resources.Limits.Memory().IsZero() {
				t.Errorf("%s has no resources", p.name)
			}
			for _, a := range c.Args {
				addr, ok := strings.CutPrefix(a, "--advertise-addr=")
				if seeds, is := strings.CutPrefix(a, "--seeds="); is {
					ok, addr = true, strings.Split(seeds, ",")[0]
				}
				if _, port, err := net.SplitHostPort(addr); ok && (err != nil || port != "4001") {
					t.Errorf("%s: %s is not an address of the port between nodes", p.name, a)
				}
			}
		}
		if servers == 0 {
			t.Error("there is no server")
		}
	})
}

// TestRestricted checks every container against the restricted profile of Kubernetes, and against
// further rules.
func TestRestricted(t *testing.T) {
	each(t, func(t *testing.T, objects []metav1.Object) {
		for _, p := range pods(objects) {
			s := p.spec.SecurityContext
			if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser == 0 ||
				s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: the security context of the pod is %+v", p.name, s)
			}
			if p.spec.AutomountServiceAccountToken == nil || *p.spec.AutomountServiceAccountToken {
				t.Errorf("%s gets a token of Kubernetes", p.name)
			}
			if p.spec.HostNetwork || p.spec.HostPID || p.spec.HostIPC {
				t.Errorf("%s shares namespaces with its machine", p.name)
			}
			volumes := map[string]bool{}
			for _, name := range p.claims {
				volumes[name] = true
			}
			for _, v := range p.spec.Volumes {
				volumes[v.Name] = true
				if v.HostPath != nil {
					t.Errorf("%s mounts a folder of its machine", p.name)
				}
			}
			for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
				s := c.SecurityContext
				if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
					s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
					s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) ||
					len(s.Capabilities.Add) > 0 || s.Privileged != nil {
					t.Errorf("%s, %s: the security context is %+v", p.name, c.Name, s)
				}
				for _, m := range c.VolumeMounts {
					if !volumes[m.Name] {
						t.Errorf("%s, %s mounts %s, which is not a volume", p.name, c.Name, m.Name)
					}
				}
				for _, e := range c.Env {
					if secret := strings.Contains(e.Name, "USER") || strings.Contains(e.Name, "PASSWORD") ||
						strings.Contains(e.Name, "CLUSTER_ID"); secret && (e.Value != "" || e.ValueFrom == nil ||
						e.ValueFrom.SecretKeyRef == nil) {
						t.Errorf("%s, %s: %s is in the clear", p.name, c.Name, e.Name)
					}
				}
			}
		}
	})
}

func TestSignsIn(t *testing.T) {
	for _, set := range []string{"full", "secrets"} {
		for _, p := range pods(decodeAll(t, mustRender(t, request{values: setValues(t, set), upgrade: true}))) {
			c := p.spec.Containers[0]
			if c.Name == "cordwood" {
				for _, flag := range []string{
					"--user-provider=", "--tls-cert=", "--tls-key=", "--rpc-tls-cert=",
					"--rpc-tls-key=", "--rpc-tls-ca=", "--rpc-tls-server-name=",
				} {
					if !slices.ContainsFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, flag) }) {
						t.Errorf("%s, %s: no %s", set, p.name, flag)
					}
				}
				continue
			}
			for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
				env := map[string]corev1.EnvVar{}
				for _, e := range c.Env {
					env[e.Name] = e
				}
				if env["CORDWOOD_USER"].ValueFrom == nil ||
					!strings.HasPrefix(env["CORDWOOD_SERVER"].Value, "https://demo-cordwood.logs.svc.cluster.local:") ||
					env["SSL_CERT_DIR"].Value == "" {
					t.Errorf("%s, %s, %s cannot sign in: %+v", set, p.name, c.Name, c.Env)
				}
			}
		}
	}
}
