package sdnotify

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// listen creates a socket like systemd's, and sets the environment variable for it.
func listen(t *testing.T) *net.UnixConn {
	t.Helper()
	dir, err := os.MkdirTemp("", "sd") // t.TempDir() may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	name := filepath.Join(dir, "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", name)
	return conn
}

func receive(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestReportsToSystemd(t *testing.T) {
	conn := listen(t)
	n, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if v := os.Getenv("NOTIFY_SOCKET"); v != "" {
		t.Errorf("child processes would inherit NOTIFY_SOCKET=%s", v)
	}
	n.Status("waiting for\nother nodes")
	n.Status("waiting for\nother nodes") // not sent again
	n.Ready()
	n.Stopping()
	for _, want := range []string{"STATUS=waiting for other nodes", "READY=1", "STOPPING=1"} {
		if got := receive(t, conn); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSendsSignsOfLife(t *testing.T) {
	conn := listen(t)
	t.Setenv("WATCHDOG_USEC", "2000")
	n, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	for range 3 {
		if got := receive(t, conn); got != "WATCHDOG=1" {
			t.Errorf("got %q", got)
		}
	}
}

func TestWithoutSystemd(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	n, err := Open()
	if n != nil || err != nil {
		t.Fatalf("got %v, %v", n, err)
	}
	n.Status("x")
	n.Ready()
	n.Stopping()
	n.Close()
}

func TestWatchdog(t *testing.T) {
	for _, c := range []struct {
		usec, pid string
		want      time.Duration
		fails     bool
	}{
		{"", "", 0, false},
		{"30000000", "", 15 * time.Second, false},
		{"30000000", "7", 15 * time.Second, false},
		{"30000000", "8", 0, false}, // meant for another process
		{"0", "", 0, true},
		{"soon", "", 0, true},
		{"99999999999999", "", 0, true},
	} {
		got, err := watchdog(c.usec, c.pid, 7)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("WATCHDOG_USEC=%q WATCHDOG_PID=%q: got %s, %v", c.usec, c.pid, got, err)
		}
	}
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "nobody"))
	if _, err := Open(); err == nil {
		t.Error("a socket that does not exist should be an error")
	}
}
