package helmtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// serverSettings lists the settings of a server in the form log.level.
func serverSettings(t *testing.T, bin string) []string {
	t.Helper()
	out, err := exec.Command(bin, "serve", "--print-config").Output()
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(out, &tree); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for key, value := range tree {
		if group, ok := value.(map[string]any); ok {
			for sub := range group {
				keys = append(keys, key+"."+sub)
			}
			continue
		}
		keys = append(keys, key)
	}
	return keys
}

// schemaKeys lists the leaves of a schema.
func schemaKeys(s map[string]any, path string) []string {
	properties, ok := s["properties"].(map[string]any)
	if !ok {
		return []string{strings.TrimPrefix(path, ".")}
	}
	var out []string
	for key, sub := range properties {
		out = append(out, schemaKeys(sub.(map[string]any), path+"."+key)...)
	}
	return out
}

// TestServerTakesArguments checks that the server accepts the arguments, the environment and the
// configuration file of every pod.
func TestServerTakesArguments(t *testing.T) {
	bin := os.Getenv("CORDWOOD_BIN")
	if bin == "" {
		t.Skip("CORDWOOD_BIN is not set: run `make helm-test`")
	}
	for _, set := range sets {
		objects := decodeAll(t, mustRender(t, request{values: setValues(t, set)}))
		dir := t.TempDir()
		for _, o := range objects {
			if c, ok := o.(*corev1.ConfigMap); ok && c.Data["cordwood.yaml"] != "" {
				if err := os.WriteFile(filepath.Join(dir, "cordwood.yaml"), []byte(c.Data["cordwood.yaml"]), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, p := range pods(objects) {
			c := p.spec.Containers[0]
			args := []string{"--help"}
			if c.Args[0] == "serve" {
				args = []string{"--print-config"}
			}
			for _, a := range c.Args {
				a = strings.NewReplacer("$(POD_NAME)", "pod-0", "$(POD_IP)", "10.0.0.1", "/etc/cordwood/config", dir).Replace(a)
				args = append(args, a)
			}
			cmd := exec.Command(bin, append(args[1:], args[0])...)
			cmd.Env = []string{"CORDWOOD_ZONE=", "HOME=" + dir}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s, %s: cordwood %s: %v\n%.500s", set, p.name, strings.Join(args, " "), err, out)
			}
		}
	}
}
