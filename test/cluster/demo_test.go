package cluster

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDemo runs the demo like a new user, pastes the commands that it shows into a shell, and ends it with Ctrl-C.
func TestDemo(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v", err)
		}
	}
	dir := t.TempDir()
	demo := filepath.Join(dir, "demo")
	if out, err := exec.Command("go", "build", "-o", demo, "cordwood/deploy/demo").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(demo, "-bin", Binary(t), "-rows", "500")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var problems bytes.Buffer
	cmd.Stderr = &problems
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watch := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() }) // then reading ends
	defer watch.Stop()
	var script strings.Builder
	shown, commands := "", false
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		line := lines.Text()
		shown += line + "\n"
		if strings.Contains(line, "Go on with") {
			commands = true
			continue
		}
		if strings.HasPrefix(line, "Ctrl-C") {
			break
		}
		if commands {
			script.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	if !commands {
		_ = cmd.Process.Kill()
		t.Fatalf("the demo shows no commands: %v\n%s%s", cmd.Wait(), shown, problems.String())
	}
	shell := exec.Command("bash", "-ec", strings.ReplaceAll(script.String(), "curl ", "curl -sS --fail-with-body "))
	shell.Stdin = strings.NewReader("SELECT 40 + 2 AS typed;") // for the last command, which reads statements
	out, err := shell.CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"affectedrows":2`) ||
		!strings.Contains(string(out), "| warn  |") || !strings.Contains(string(out), "| hits |") ||
		!strings.Contains(string(out), "|    42 |") {
		t.Errorf("the commands\n%s\nprint\n%s%v", script.String(), out, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		shown += lines.Text() + "\n"
	}
	if err := cmd.Wait(); err != nil || problems.Len() > 0 {
		t.Errorf("the demo ended with %v: %s", err, problems.String())
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "cordwood-demo-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
