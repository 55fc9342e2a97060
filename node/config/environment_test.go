package config

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestCheckEnvironment(t *testing.T) {
	for _, tt := range []struct{ variable, want string }{
		{"CORDWOOD_HTTP_ADDR=:4000", ""},
		{"CORDWOOD_SERVER=http://a", ""},
		{"CORDWOOD_USER=a:b", ""},
		{"CORDWOOD_PASSWORD=b", ""},
		{"CORDWOOD_CONFIG=x", ""},
		{"CORDWOOD_MACHINE=m", ""},
		{"CORDWOOD_HTTP_ENABLE_CORS=true", ""}, // Load reports what to use instead
		{"cordwood_http_adr=x", ""},
		{"CORDWOODS=1", ""},
		{"CORDWOOD_TEST_AS_PROGRAM=1", ""},
		{"CORDWOOD_BIN=/tmp/cordwood", ""},
		{"CORDWOOD_CHAOS_ROUNDS=1", ""},
		{"CORDWOOD_IMAGE=cordwood:1", ""},
		{"CORDWOOD_CHAOS_ROUND=1", "remove it ("}, // variables of tests are not suggested
		{"CORDWOOD_OLD_BINS=1", "remove it ("},
		{"CORDWOOD_BREAD_AND_BUTTER=1", "remove it ("}, // only the common prefix is similar
		{"CORDWOOD_HTTP_ADR=secret", "environment variable CORDWOOD_HTTP_ADR is not known and would have no effect: " +
			"did you mean CORDWOOD_HTTP_ADDR?"},
		{"CORDWOOD_SEED=a:1", "did you mean CORDWOOD_SEEDS?"},
		{"CORDWOOD_SRVER=x", "did you mean CORDWOOD_SERVER?"},
		{"CORDWOOD_=x", "environment variable CORDWOOD_ is not known"},
		{"CORDWOOD_FRESH_BREAD_EVERY_DAY=", "remove it ('cordwood serve --help' lists the settings)"},
		// Kubernetes sets these variables for the services cordwood and cordwood-headless.
		{"CORDWOOD_SERVICE_HOST=10.0.0.1", ""},
		{"CORDWOOD_SERVICE_PORT=4000", ""},
		{"CORDWOOD_SERVICE_PORT_HTTP=4000", ""},
		{"CORDWOOD_SERVICE_PORT_HTTP_V1=4000", ""},
		{"CORDWOOD_PORT=tcp://10.0.0.1:4000", ""},
		{"CORDWOOD_PORT_4000_TCP=tcp://10.0.0.1:4000", ""},
		{"CORDWOOD_PORT_4000_TCP_PROTO=tcp", ""},
		{"CORDWOOD_PORT_4000_TCP_PORT=4000", ""},
		{"CORDWOOD_PORT_4000_TCP_ADDR=10.0.0.1", ""},
		{"CORDWOOD_PORT_514_UDP_ADDR=10.0.0.1", ""},
		{"CORDWOOD_HEADLESS_SERVICE_HOST=10.0.0.1", ""},
		{"CORDWOOD_HEADLESS_SERVICE_PORT=4001", ""},
		{"CORDWOOD_HEADLESS_PORT=tcp://10.0.0.1:4001", ""},
		{"CORDWOOD_HEADLESS_PORT_4001_TCP_ADDR=10.0.0.1", ""},
		{"CORDWOOD_HTTP_PORT=udp://[fd00::1]:4000", ""},
		// These variables may come from a user.
		{"CORDWOOD_HTTP_PORT=4000", "environment variable CORDWOOD_HTTP_PORT is not known"},
		{"CORDWOOD_PORT=4000", "environment variable CORDWOOD_PORT is not known"},
		{"CORDWOOD_PORT_HTTP_TCP=1", "environment variable CORDWOOD_PORT_HTTP_TCP is not known"},
	} {
		err := CheckEnvironment([]string{"PATH=/bin", tt.variable})
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", tt.variable, err, tt.want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: the value is in the error: %v", tt.variable, err)
		}
	}
	if err := CheckEnvironment([]string{"CORDWOOD_B=1", "CORDWOOD_A=1"}); err == nil ||
		strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "CORDWOOD_A ") {
		t.Errorf("two variables: %v", err)
	}
}

// TestDeploymentsSetKnownVariables checks the variables in the files for deployments.
func TestDeploymentsSetKnownVariables(t *testing.T) {
	found := 0
	for _, file := range []string{
		"../../deploy/helm/cordwood/templates/_pod.tpl", "../../deploy/compose/one.yaml",
		"../../deploy/compose/cluster.yaml", "../../deploy/Dockerfile",
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`CORDWOOD_[A-Z0-9_]+`).FindAllString(string(text), -1) {
			found++
			if err := CheckEnvironment([]string{name + "=x"}); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d variables were found", found)
	}
}
