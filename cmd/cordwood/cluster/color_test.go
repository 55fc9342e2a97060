package cluster

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/httpapi/clusterapi"
)

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestColorsOfStates checks that states are coloured only on request, and that colours do not change
// the width of columns.
func TestColorsOfStates(t *testing.T) {
	status := &clusterapi.Status{
		ClusterID: "c", Health: "broken", Problems: []clusterapi.Problem{{Severity: "critical", Text: "t", Advice: "a"}},
		Nodes: []clusterapi.Node{
			{Name: "n1", State: "up"}, {Name: "n2", State: "down", SilentSeconds: 100}, {Name: "n3", State: "drained"},
		},
		Shards:     []clusterapi.Shard{{ID: 1, State: "ok"}, {ID: 2, State: "no leader"}, {ID: 3, State: "under-replicated"}},
		Operations: []clusterapi.Operation{{ID: 1, State: "running"}},
	}
	var plain, colored bytes.Buffer
	for out, color := range map[*bytes.Buffer]cli.Palette{&plain: false, &colored: true} {
		if err := printStatus(out, status, color); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(plain.String(), "\x1b") {
		t.Errorf("colours that are not wanted:\n%q", plain.String())
	}
	if got := escapes.ReplaceAllString(colored.String(), ""); got != plain.String() {
		t.Errorf("without its colours it is\n%s\nwant\n%s", got, plain.String())
	}
	for _, want := range []string{
		"cluster c: \x1b[31mbroken\x1b[0m\n", "\x1b[31mcritical\x1b[0m: t", "\x1b[32mup\x1b[0m", "\x1b[31mdown 1m40s\x1b[0m",
		"\x1b[39mdrained\x1b[0m",
		"\x1b[32mok\x1b[0m", "\x1b[31mno leader\x1b[0m", "\x1b[33munder-replicated\x1b[0m",
	} {
		if !strings.Contains(colored.String(), want) {
			t.Errorf("no %q in\n%q", want, colored.String())
		}
	}
}
