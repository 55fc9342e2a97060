package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cordwood/shard/query"
)

func itoa(n int) string { return strconv.Itoa(n) }

// parent is a server with a query that does not stop. It prints which process runs the query, and
// waits.
func parent() {
	w, err := Open(Config{Build: testBuild, MemoryLimit: 64 << 20})
	if err != nil {
		panic(err)
	}
	err = w.Query(context.Background(), &query.Request{SQL: "hang", Database: "public"}, func([]byte) error {
		fmt.Println(currentPID(w))
		return nil
	})
	panic(err)
}

// TestOrphan kills a server and checks that its child ends, whatever the child is doing.
func TestOrphan(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if dead(pid) {
		t.Fatal("the child is dead already")
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the end of the child", func() bool { return dead(pid) || zombie(pid) })
}

// zombie reports whether a process has ended and its parent has not collected its status.
func zombie(pid int) bool {
	b, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(rest, "Z")
}

// TestByHand runs the subcommand from a shell, as a curious user might.
func TestByHand(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(exe, Subcommand).CombinedOutput()
	status := &exec.ExitError{}
	if !errors.As(err, &status) {
		t.Fatalf("it ended with %v: %s", err, out)
	}
	if code := status.ExitCode(); code != exitByHand || !strings.Contains(string(out), "cannot be run by hand") {
		t.Errorf("status %d: %s", code, out)
	}
}
