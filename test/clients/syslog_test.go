package clients

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// daemons are the syslog daemons, as docs/ingestion.md configures them. In their settings DIR is a folder of their own,
// PORT the server's.
var daemons = []struct {
	name     string
	settings string
	args     []string
}{
	{"rsyslogd", `
global(workDirectory="DIR")
module(load="imfile")
input(type="imfile" File="DIR/in.log" Tag="shop:" ruleset="out")
ruleset(name="out") {
  action(type="omfwd" target="127.0.0.1" port="PORT" protocol="tcp" TCP_Framing="octet-counted"
         template="RSYSLOG_SyslogProtocol23Format"
         queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
         action.resumeRetryCount="-1" action.resumeInterval="1")
}
`, []string{"-n", "-f", "DIR/conf", "-i", "DIR/pid"}},
	{"syslog-ng", `
@version: 3.38
options { time-reopen(1); };
source s_in { file("DIR/in.log" flags(no-parse) follow-freq(1)); };
destination d_cordwood {
  syslog("127.0.0.1" port(PORT) transport("tcp")
    disk-buffer(reliable(yes) disk-buf-size(1073741824) mem-buf-size(16777216) dir("DIR")));
};
log { source(s_in); destination(d_cordwood); flags(flow-control); };
`, []string{"-F", "-f", "DIR/conf", "-R", "DIR/persist", "-c", "DIR/ctl", "-p", "DIR/pid", "--no-caps"}},
}

// TestDaemons has the syslog daemons of this machine send the lines of a file, half of them while the server is
// started again.
func TestDaemons(t *testing.T) {
	for _, d := range daemons {
		t.Run(d.name, func(t *testing.T) {
			program, err := exec.LookPath(d.name)
			if err != nil {
				t.Skipf("%s is not installed: %v", d.name, err)
			}
			s := start(t)
			_, port, err := net.SplitHostPort(s.syslog)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			here := strings.NewReplacer("DIR", dir, "PORT", port)
			write(t, filepath.Join(dir, "conf"), here.Replace(d.settings))
			lines := filepath.Join(dir, "in.log")
			write(t, lines, "")
			var args []string
			for _, a := range d.args {
				args = append(args, here.Replace(a))
			}
			cmd := exec.Command(program, args...)
			said, err := os.Create(filepath.Join(dir, "said"))
			if err != nil {
				t.Fatal(err)
			}
			defer said.Close()
			cmd.Stdout, cmd.Stderr = said, said
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Signal(syscall.SIGTERM)
				_ = cmd.Wait()
				if t.Failed() {
					text, _ := os.ReadFile(said.Name())
					t.Logf("%s said:\n%s", d.name, text)
				}
			})
			write(t, lines, marks(0, Records/2))
			s.end(syscall.SIGTERM)
			write(t, lines, marks(Records/2, Records))
			s.run()
			// rsyslog sends the last messages before a connection ended again, since the protocol tells it nothing.
			s.await(`SELECT count(DISTINCT mark), count(*) - count(DISTINCT mark) <= 10
				FROM (SELECT regexp_extract(message, 'mark=(\d+)', 1) AS mark FROM syslog) WHERE mark <> ''`,
				fmt.Sprint(Records), "true")
		})
	}
}

// marks returns a line for each mark.
func marks(first, last int) string {
	var b strings.Builder
	for mark := first; mark < last; mark++ {
		fmt.Fprintf(&b, "a record mark=%d\n", mark)
	}
	return b.String()
}

// write appends text to a file.
func write(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
