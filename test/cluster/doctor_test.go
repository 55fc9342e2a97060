package cluster

import (
	"encoding/json"
	"errors"
	"os/exec"
	"testing"
)

// wantSound has the doctor read the data folder of a node that does not run: it explains
// every file.
func wantSound(t *testing.T, n *Node) {
	t.Helper()
	out, err := exec.Command(n.bin, "doctor", "--json", "--data-dir", n.Dir).Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var report struct {
		Findings []struct{ Severity, Part, File, What string }
		Files    int
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("node %s: doctor: %v\n%s", n.Name, err, out)
	}
	for _, f := range report.Findings {
		if f.Part == "data" && f.Severity != "note" { // the machine is not this test's
			t.Errorf("node %s: doctor: %+v", n.Name, f)
		}
	}
	if report.Files == 0 {
		t.Errorf("node %s: doctor read %d files", n.Name, report.Files)
	}
}
