package helmtest

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what the tests compare with: golden files and the chart's README")

// sets are the value sets with a golden file of their rendering.
var sets = []string{"single", "three", "cluster", "full", "secrets"}

func setValues(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func mustRender(t *testing.T, r request) map[string][]string {
	t.Helper()
	files, err := render(r)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// same compares a file with the wanted text, or writes it with -update.
func same(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) == want {
		return
	}
	a, b := strings.Split(string(have), "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("%s differs from the rendering: line %d is\n%s\nand should be\n%s\n"+
				"`make helm-docs` writes it again; look at the difference", file, i+1, a[i], b[i])
		}
	}
	t.Fatalf("%s has %d lines and should have %d: `make helm-docs` writes it again", file, len(a), len(b))
}

func TestGolden(t *testing.T) {
	for _, name := range sets {
		same(t, filepath.Join("testdata", name+".golden.yaml"), golden(mustRender(t, request{values: setValues(t, name)})))
	}
}

func TestReadme(t *testing.T) {
	text, err := readme()
	if err != nil {
		t.Fatal(err)
	}
	same(t, filepath.Join(chartDir, "README.md"), text)
}

func TestLint(t *testing.T) {
	for _, name := range sets {
		values := map[string]any{}
		if err := yaml.Unmarshal([]byte(setValues(t, name)), &values); err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.AllWithKubeVersion(chartDir, values, "logs", nil).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{"image: {tag: 2}", "tag"},
		{"image: {digset: x}", "digset"},
		{"image: {digest: sha256:12}", "digest"},
		{"replicaCount: 3", "replicaCount"},
		{"mode: Cluster", "mode"},
		{"meta: {replicas: 2}", "replicas"},
		{"meta: {bootstrapExpect: 7}", "bootstrapExpect"},
		{"replication: 2", "replication"},
		{"shard: {replicas: \"3\"}", "replicas"},
		{"shard: {replicas: 0}", "replicas"},
		{"shard: {persistence: {size: 50}}", "size"},
		{"shard: {persistence: {size: 50GB}}", "size"},
		{"shard: {resources: {request: {cpu: 1}}}", "request"},
		{"shard: {extraEnv: [{name: A, val: b}]}", "val"},
		{"config: {log: {levels: debug}}", "levels"},
		{"config: {data-dir: /elsewhere}", "data-dir"},
		{"config: {query: {max-concurrent: many}}", "max-concurrent"},
		{"persistence: {whenScaled: Recycle}", "whenScaled"},
		{"tls: {users: {enabled: yes please}}", "enabled"},
		{"tls: {certManager: {issuerRef: {kind: Robot}}}", "kind"},
		{"drain: {seconds: 5s}", "seconds"},
		{"ingress: {hosts: logs.example}", "hosts"},
		{"networkPolicy: {usersFrom: [{podSelectors: {}}]}", "podSelectors"},
		{"clusterId: {value: mine}", "value"},
	} {
		_, err := render(request{values: c.values})
		if err == nil || !strings.Contains(err.Error(), "values don't meet the specifications") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error that contains %s", c.values, err, c.want)
		}
	}
}

func TestChartRefuses(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{"mode: cluster\nshard: {replicas: 2}\nreplication: 3", "needs as many pods with shards, and there are 2"},
		{"single: {replicas: 3}", "set bootstrapExpect to 3"},
		{"mode: cluster\nmeta: {replicas: 1}", "the number of pods is only 1"},
		{"auth: {existingSecret: users}", "auth.clientSecret"},
		{"auth: {admin: {enabled: true}}\nconfig: {bootstrap-admin: x}", "set one of them"},
		{"auth: {admin: {enabled: true}}\nlisteners: {syslogUdp: {enabled: true}}", "listeners.tokenSecret"},
		{"tls: {users: {enabled: true}}", "tls.users.existingSecret"},
		{"tls: {nodes: {enabled: true}, certManager: {enabled: true}}", "issuerRef.name"},
		{"drain: {seconds: 100}", "drain.graceSeconds 120"},
		{"ingress: {enabled: true}", "ingress.hosts"},
		{
			"auth: {existingSecret: u, clientSecret: c}\nlisteners: {syslogUdp: {enabled: true}}",
			"listeners.syslogUdp needs listeners.tokenSecret",
		},
		{"listeners: {syslogTls: {enabled: true}}", "listeners.syslogTls needs tls.users"},
		{"config: {http: {enable-cors: true}}", "config.http.cors-allowed-origins"},
		{"config: {metrics-open: false}", "auth.existingSecret"},
		{"config: {http: {protect-config: true}}", "needs a user that may read"},
	} {
		if _, err := render(request{values: c.values}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.values, err, c.want)
		}
	}
	// The limits for a new cluster do not apply to an existing one.
	if _, err := render(request{values: "mode: cluster\nmeta: {replicas: 1}", upgrade: true}); err != nil {
		t.Error(err)
	}
}

// TestSchemaCoversValues checks that the schema lists every value of the chart, and that its objects
// accept no other keys, except maps whose keys users choose.
func TestSchemaCoversValues(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chartDir, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := yaml.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	own := regexp.MustCompile(`(labels|Labels|annotations|Annotations|nodeSelector|requests|limits)$`)
	var walk func(s map[string]any, path string)
	walk = func(s map[string]any, path string) {
		if items, ok := s["items"].(map[string]any); ok {
			walk(items, path+"[]")
		}
		properties, _ := s["properties"].(map[string]any)
		if s["type"] == "object" && path != ".global" && s["additionalProperties"] != false && !own.MatchString(path) {
			t.Errorf("%s accepts any key", path)
		}
		for key, sub := range properties {
			walk(sub.(map[string]any), path+"."+key)
		}
	}
	walk(schema, "")
	values, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := valueRows(values)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		at := schema
		for _, key := range strings.Split(r.key, ".") {
			properties, _ := at["properties"].(map[string]any)
			next, ok := properties[key].(map[string]any)
			if !ok {
				t.Errorf("the schema does not list %s", r.key)
				break
			}
			at = next
		}
	}
	if len(rows) < 80 {
		t.Errorf("only %d values were found", len(rows))
	}
}

// TestConfigSchema checks that the schema lists the settings of the server, except those that the
// chart sets.
func TestConfigSchema(t *testing.T) {
	bin := os.Getenv("CORDWOOD_BIN")
	if bin == "" {
		t.Skip("CORDWOOD_BIN is not set: run `make helm-test`")
	}
	chartSets := []string{
		"admin-addr", "advertise-addr", "cluster-id", "cluster-secret-file", "data-dir", "datadog-addr",
		"forward-addr", "gelf-addr", "http.addr", "http.v1-addr", "elasticsearch-addr", "journald-addr",
		"loki-addr", "machine", "meta-bootstrap-expect", "node-name", "oidc.client-secret-file", "otlp-grpc-addr",
		"otlp-http-addr", "pg-addr",
		"replication", "roles", "rpc.addr", "rpc.insecure", "rpc.tls-ca", "rpc.tls-cert", "rpc.tls-key",
		"rpc.tls-server-name", "seeds", "shards", "shutdown-grace", "splunk-addr", "syslog-addr",
		"tls.cert", "tls.client-ca", "tls.client-user", "tls.key", "ui-dir", "user-file", "user-provider", "zone",
	}
	server := serverSettings(t, bin)
	var want []string
	for _, key := range server {
		if !slices.Contains(chartSets, key) {
			want = append(want, key)
		}
	}
	text, err := os.ReadFile(filepath.Join(chartDir, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Config map[string]any `json:"config"`
		} `json:"properties"`
	}
	if err := yaml.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	have := schemaKeys(schema.Properties.Config, "")
	slices.Sort(have)
	slices.Sort(want)
	for _, key := range want {
		if !slices.Contains(have, key) {
			t.Errorf("values.schema.json lacks config.%s, which the server knows", key)
		}
	}
	for _, key := range have {
		if !slices.Contains(want, key) {
			t.Errorf("values.schema.json has config.%s, which the server does not know or the chart sets", key)
		}
	}
}
