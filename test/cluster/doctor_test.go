package cluster

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"testing"
)

// TestDoctorAsksTheServerOfTheFolder checks that doctor connects to the server that uses a data folder, and not to
// the server at the configured address, which is the default address here.
func TestDoctorAsksTheServerOfTheFolder(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	cmd := exec.Command(n.bin, "doctor", "--json", "--data-dir", n.Dir)
	cmd.Env = append(os.Environ(), "CORDWOOD_SERVER=http://127.0.0.1:9") // another server may use this address
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var report struct {
		Findings []struct{ Severity, Part, What string }
		Server   string
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if report.Server != n.HTTP {
		t.Errorf("asked %q, the server is at %s: %s", report.Server, n.HTTP, out)
	}
	for _, f := range report.Findings {
		if f.Part == "server" {
			t.Errorf("%+v", f)
		}
	}
	n.Stop()
	checkFolder(t, n)
}

// checkFolder runs doctor on the data folder of a stopped node. It must recognise every file.
func checkFolder(t *testing.T, n *Node) {
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
		if f.Part == "data" && f.Severity != "note" { // the test does not depend on the machine
			t.Errorf("node %s: doctor: %+v", n.Name, f)
		}
	}
	if report.Files == 0 {
		t.Errorf("node %s: doctor read %d files", n.Name, report.Files)
	}
}
