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

// daemon is a syslog daemon with an output, as docs/ingestion.md configures it. In its settings DIR is a folder of its
// own, and HOST and PORT are the address of its door.
type daemon struct {
	name, program string
	door          func(*server) string
	settings      string
	args          []string
	// marks is a query for the marks, and doubles how many may come twice: what was under way when a connection ended.
	marks   string
	doubles int
}

var (
	rsyslogArgs  = []string{"-n", "-f", "DIR/conf", "-i", "DIR/pid"}
	syslogNGArgs = []string{
		"-F", "-f", "DIR/conf", "-R", "DIR/persist", "-c", "DIR/ctl", "-p", "DIR/pid", "--no-caps",
	}
)

var daemons = []daemon{
	{"rsyslog-omfwd", "rsyslogd", (*server).syslogAddr, `
global(workDirectory="DIR")
module(load="imfile")
input(type="imfile" File="DIR/in.log" Tag="shop:" ruleset="out")
ruleset(name="out") {
  action(type="omfwd" target="HOST" port="PORT" protocol="tcp" TCP_Framing="octet-counted"
         template="RSYSLOG_SyslogProtocol23Format"
         queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
         action.resumeRetryCount="-1" action.resumeInterval="1")
}
`, rsyslogArgs, "SELECT regexp_extract(message, 'mark=(\\d+)', 1) AS mark FROM syslog", 10},
	{"rsyslog-omelasticsearch", "rsyslogd", (*server).elasticAddr, `
global(workDirectory="DIR")
module(load="imfile")
module(load="omelasticsearch")
template(name="document" type="list" option.jsonf="on") {
  property(outname="@timestamp" name="timereported" dateFormat="rfc3339" format="jsonf")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="severity" name="syslogseverity-text" format="jsonf")
  property(outname="message" name="msg" format="jsonf")
}
input(type="imfile" File="DIR/in.log" Tag="shop:" ruleset="out")
ruleset(name="out") {
  action(type="omelasticsearch" server="HOST" serverport="PORT" searchIndex="shop" searchType="" bulkmode="on"
         template="document" retryfailures="on" retryruleset="out"
         queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
         action.resumeRetryCount="-1" action.resumeInterval="1")
}
`, rsyslogArgs, "SELECT regexp_extract(message, 'mark=(\\d+)', 1) AS mark FROM shop", Records},
	{"syslog-ng-http", "syslog-ng", (*server).usersAddr, `
@version: 3.38
options { time-reopen(1); };
source s_in { file("DIR/in.log" flags(no-parse) follow-freq(1)); };
destination d_cordwood {
  http(
    url("http://HOST:PORT/v1/ingest?table=lines&pipeline_name=svc_identity")
    method("POST") headers("Content-Type: application/x-ndjson")
    body("$(format-json --scope rfc5424 --key ISODATE)") delimiter("\n")
    batch-lines(1000) batch-timeout(1000) workers(2) persist-name("cordwood")
    disk-buffer(reliable(yes) disk-buf-size(1073741824) mem-buf-size(16777216) dir("DIR"))
    retries(1000000)
  );
};
log { source(s_in); destination(d_cordwood); flags(flow-control); };
`, syslogNGArgs, "SELECT regexp_extract(\"MESSAGE\", 'mark=(\\d+)', 1) AS mark FROM lines", Records},
	{"syslog-ng", "syslog-ng", (*server).syslogAddr, `
@version: 3.38
options { time-reopen(1); };
source s_in { file("DIR/in.log" flags(no-parse) follow-freq(1)); };
destination d_cordwood {
  syslog("HOST" port(PORT) transport("tcp")
    disk-buffer(reliable(yes) disk-buf-size(1073741824) mem-buf-size(16777216) dir("DIR")));
};
log { source(s_in); destination(d_cordwood); flags(flow-control); };
`, syslogNGArgs, "SELECT regexp_extract(message, 'mark=(\\d+)', 1) AS mark FROM syslog", 10},
}

// TestDaemons has the syslog daemons of this machine send the lines of a file, half of them while the server is
// started again.
func TestDaemons(t *testing.T) {
	for _, d := range daemons {
		t.Run(d.name, func(t *testing.T) {
			program, err := exec.LookPath(d.program)
			if err != nil {
				t.Skipf("%s is not installed: %v", d.program, err)
			}
			s := start(t)
			host, port, err := net.SplitHostPort(d.door(s))
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			here := strings.NewReplacer("DIR", dir, "HOST", host, "PORT", port)
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
			s.await(fmt.Sprintf(`SELECT count(DISTINCT mark), count(*) - count(DISTINCT mark) <= %d
				FROM (%s) AS m WHERE mark <> ''`, d.doubles, d.marks), fmt.Sprint(Records), "true")
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
