package helmtest

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Kinds of other projects, with the fields that the chart uses.
type (
	certificate struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			SecretName  string `json:"secretName"`
			Duration    string `json:"duration"`
			RenewBefore string `json:"renewBefore"`
			PrivateKey  struct {
				Algorithm      string `json:"algorithm"`
				Size           int    `json:"size"`
				RotationPolicy string `json:"rotationPolicy"`
			} `json:"privateKey"`
			Usages    []string `json:"usages"`
			IssuerRef struct {
				Name  string `json:"name"`
				Kind  string `json:"kind"`
				Group string `json:"group"`
			} `json:"issuerRef"`
			DNSNames []string `json:"dnsNames"`
		} `json:"spec"`
	}
	secretKey struct {
		Secret *corev1.SecretKeySelector `json:"secret,omitempty"`
	}
	serviceMonitor struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			JobLabel     string               `json:"jobLabel"`
			TargetLabels []string             `json:"targetLabels"`
			Selector     metav1.LabelSelector `json:"selector"`
			Endpoints    []struct {
				Port      string `json:"port"`
				Path      string `json:"path"`
				Interval  string `json:"interval"`
				Scheme    string `json:"scheme"`
				TLSConfig struct {
					ServerName string    `json:"serverName"`
					CA         secretKey `json:"ca"`
				} `json:"tlsConfig"`
				BasicAuth struct {
					Username corev1.SecretKeySelector `json:"username"`
					Password corev1.SecretKeySelector `json:"password"`
				} `json:"basicAuth"`
			} `json:"endpoints"`
		} `json:"spec"`
	}
	prometheusRule struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Groups []struct {
				Name  string `json:"name"`
				Rules []struct {
					Alert       string            `json:"alert"`
					Expr        string            `json:"expr"`
					For         string            `json:"for"`
					Labels      map[string]string `json:"labels"`
					Annotations map[string]string `json:"annotations"`
				} `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
)

// decode reads an object into the Go type of its kind. Unknown and repeated fields are errors.
func decode(doc string) (metav1.Object, error) {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(doc), &kind); err != nil {
		return nil, err
	}
	kinds := map[string]metav1.Object{
		"apps/v1 StatefulSet": &appsv1.StatefulSet{}, "apps/v1 Deployment": &appsv1.Deployment{},
		"batch/v1 Job": &batchv1.Job{}, "batch/v1 CronJob": &batchv1.CronJob{},
		"v1 Service": &corev1.Service{}, "v1 ServiceAccount": &corev1.ServiceAccount{}, "v1 ConfigMap": &corev1.ConfigMap{},
		"v1 Secret": &corev1.Secret{}, "v1 Pod": &corev1.Pod{},
		"policy/v1 PodDisruptionBudget":           &policyv1.PodDisruptionBudget{},
		"networking.k8s.io/v1 NetworkPolicy":      &networkingv1.NetworkPolicy{},
		"networking.k8s.io/v1 Ingress":            &networkingv1.Ingress{},
		"autoscaling/v2 HorizontalPodAutoscaler":  &autoscalingv2.HorizontalPodAutoscaler{},
		"cert-manager.io/v1 Certificate":          &certificate{},
		"monitoring.coreos.com/v1 ServiceMonitor": &serviceMonitor{},
		"monitoring.coreos.com/v1 PrometheusRule": &prometheusRule{},
	}
	key := kind.APIVersion + " " + kind.Kind
	out := kinds[key]
	if out == nil {
		return nil, fmt.Errorf("the tests have no type for %q", key)
	}
	if err := yaml.UnmarshalStrict([]byte(doc), out, yaml.DisallowUnknownFields); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return out, nil
}
