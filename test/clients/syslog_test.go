package clients

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// daemon is a syslog daemon. Its output is a block of docs/ingestion.md. In its settings, BLOCK stands for this
// block, and DIR for a temporary folder.
type daemon struct {
	name, program string
	address       func(*server) string
	texts         []string // texts that identify the block
	settings      string
	args          []string
	table, column string // where the text is stored; the default column is message
	// doubles is the number of messages that may be stored twice: those in flight when a connection ended.
	doubles int
}

var (
	rsyslogArgs  = []string{"-n", "-f", "DIR/conf", "-i", "DIR/pid"}
	syslogNGArgs = []string{
		"-F", "-f", "DIR/conf", "-R", "DIR/persist", "-c", "DIR/ctl", "-p", "DIR/pid", "--no-caps",
	}
)

const rsyslogInput = `
global(workDirectory="DIR")
module(load="imfile")
input(type="imfile" File="DIR/in.log" Tag="shop:" ruleset="cordwood")
`

const syslogNGInput = `
@version: 3.38
options { time-reopen(1); };
source s_in { file("DIR/in.log" flags(no-parse) follow-freq(1)); };
log { source(s_in); destination(d_cordwood); flags(flow-control); };
`

var daemons = []daemon{
	{
		name: "rsyslog-omfwd", program: "rsyslogd", address: (*server).syslogAddr, texts: []string{`type="omfwd"`},
		settings: rsyslogInput + `ruleset(name="cordwood") { BLOCK }`, args: rsyslogArgs, table: "syslog", doubles: 10,
	},
	{
		name: "rsyslog-omelasticsearch", program: "rsyslogd", address: (*server).elasticAddr,
		texts: []string{`load="omelasticsearch"`}, settings: rsyslogInput + "BLOCK", args: rsyslogArgs, table: "shop",
		doubles: Records,
	},
	{
		name: "syslog-ng-http", program: "syslog-ng", address: (*server).usersAddr,
		texts:    []string{"destination d_", "http("},
		settings: syslogNGInput + "BLOCK", args: syslogNGArgs, table: "syslog", column: `"MESSAGE"`, doubles: Records,
	},
	{
		name: "syslog-ng", program: "syslog-ng", address: (*server).syslogAddr, texts: []string{"destination d_", "syslog("},
		settings: syslogNGInput + "BLOCK", args: syslogNGArgs, table: "syslog", doubles: 10,
	},
}

// TestDaemons sends the lines of a file with the syslog daemons of this machine, half of them while the server
// restarts.
func TestDaemons(t *testing.T) {
	for _, d := range daemons {
		t.Run(d.name, func(t *testing.T) {
			program, err := exec.LookPath(d.program)
			if err != nil {
				t.Skipf("%s is not installed: %v", d.program, err)
			}
			s := start(t)
			host, port := hostAndPort(t, d.address(s))
			dir := t.TempDir()
			output := strings.NewReplacer("127.0.0.1:4000", s.users, "127.0.0.1", host, `"514"`, `"`+port+`"`, "(514)",
				"("+port+")", "*.* call cordwood", "",
				"disk-buffer(", `disk-buffer(dir("`+dir+`") `).Replace(block(t, d.texts...))
			if at := strings.LastIndex(output, "\nlog {"); at >= 0 { // the test has another source than the page
				output = output[strings.Index(output, "destination "):at]
			}
			here := strings.NewReplacer("DIR", dir, "BLOCK", output)
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
				FROM (SELECT regexp_extract(%s, 'mark=(\d+)', 1) AS mark FROM %s) AS m WHERE mark <> ''`, d.doubles,
				cmp.Or(d.column, "message"), d.table), fmt.Sprint(Records), "true")
		})
	}
}

// marks returns one line for each mark.
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
