package fault

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// Report is the output of `cordwood doctor --json`.
type Report struct {
	// Result is sound, needs attention or damaged.
	Result   string
	Findings []struct{ Severity, Part, File, What string }
}

// statuses are the exit statuses of doctor.
var statuses = map[string]int{"sound": 0, "needs attention": 1, "damaged": 3}

// Doctor runs `cordwood doctor` on a data folder as a process. Its package is linked with the query engine, which
// these tests do not need.
func Doctor(t testing.TB, dir string) Report {
	t.Helper()
	cmd := exec.Command(cluster.Binary(t), "doctor", "--json", "--data-dir", dir)
	// Use free ports, because another process may use the default ones.
	cmd.Env = append(os.Environ(), "CORDWOOD_HTTP_ADDR=127.0.0.1:0", "CORDWOOD_RPC_ADDR=127.0.0.1:0")
	out, err := cmd.Output()
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var report Report
	if jerr := json.Unmarshal(out, &report); jerr != nil {
		t.Fatalf("doctor: %v: %s", errors.Join(err, jerr), out)
	}
	want, known := statuses[report.Result]
	if !known {
		t.Fatalf("the result of doctor is %q: %s", report.Result, out)
	}
	if exit == nil && want != 0 || exit != nil && exit.ExitCode() != want {
		t.Errorf("doctor ended with %v, want status %d", err, want)
	}
	return report
}

// Inject makes strace change system calls of a running process until stop is called. what is an argument of strace,
// such as inject=fsync,fdatasync:error=EIO.
func Inject(t testing.TB, pid int, what string) (stop func()) {
	t.Helper()
	Need(t, "strace")
	calls, _, _ := strings.Cut(strings.TrimPrefix(what, "inject="), ":")
	cmd := exec.Command("strace", "-f", "-p", strconv.Itoa(pid), "-e", "trace="+calls, "-e", what)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	attached := make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "attached") {
				attached <- nil
				break
			}
			if strings.Contains(lines.Text(), "strace:") && !strings.Contains(lines.Text(), "Process") {
				attached <- fmt.Errorf("%s", lines.Text())
				break
			}
		}
		for lines.Scan() { // strace must not wait for a reader
		}
	}()
	stop = func() {
		_ = cmd.Process.Kill() // strace may have ended with the process
		_ = cmd.Wait()
	}
	t.Cleanup(stop)
	select {
	case err := <-attached:
		if err != nil {
			t.Skipf("strace cannot attach here: %v", err)
		}
	case <-time.After(cluster.Generous(20 * time.Second)):
		t.Skip("strace does not attach here")
	}
	return stop
}
