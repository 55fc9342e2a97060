package webtest

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// snippet is a configuration that the page shows, and how it is run. In texts, DIR stands for a temporary folder. Those
// of other shippers are blocks of docs/ingestion.md, which test/clients runs, or are read by TestSenders.
type snippet struct {
	sender string
	// needs are programs. Without one of them, the configuration is not run.
	needs []string
	// module is one of the modules that needs[0] lists with its version. Without it, the configuration is not run.
	module string
	// config is the text around the configuration in its file, in place of BLOCK; empty: the configuration is a command.
	config string
	// args run the program needs[0] with the file DIR/config.
	args []string
	// mark is SQL that finds the rows that were sent.
	mark string
}

var snippets = []snippet{
	{sender: "curl", needs: []string{"curl"}, mark: "msg = 'hello' OR took_ms = 12.5"},
	{sender: "cordwood", mark: "msg = 'from a file'"},
	{sender: "journald", mark: `"MESSAGE" = 'from the journal'`},
	{sender: "syslog", needs: []string{"logger"}, mark: "message = 'GET /cart 200'"},
	{
		sender: "rsyslog", needs: []string{"rsyslogd"}, mark: "message = 'from rsyslog'",
		config: `global(workDirectory="DIR")
module(load="imfile")
input(type="imfile" File="DIR/in.log" Tag="shop:")
BLOCK`,
		args: []string{"-n", "-f", "DIR/config", "-i", "DIR/pid"},
	},
	{
		sender: "syslog-ng", needs: []string{"syslog-ng"}, module: "http", mark: `"MESSAGE" = 'from syslog-ng'`,
		config: "@version: 3.38\n@include \"scl.conf\"\nBLOCK\nsource s_in { file(\"DIR/in.log\" flags(no-parse)); };\n" +
			"log { source(s_in); destination(d_cordwood); };\n",
		args: []string{"-F", "-f", "DIR/config", "-R", "DIR/persist", "-c", "DIR/ctl", "-p", "DIR/pid", "--no-caps"},
	},
}

// journal prints an entry as journalctl does. Few machines that run tests have a journal.
const journal = `#!/bin/sh
echo '{"__REALTIME_TIMESTAMP":"1767607200000000","MESSAGE":"from the journal","PRIORITY":"6"}'
exec sleep 1000
`

const shipper, shipperPassword = "ship", "ship-them-all-7"

// openAsShipper opens the page Add data of a server with users, signed in as a user that may only store rows in the
// database shop.
func openAsShipper(t *testing.T) (*server, *tab) {
	t.Helper()
	s, _ := startWithUsers(t)
	s.run("CREATE DATABASE shop")
	s.run("CREATE USER " + shipper + " PASSWORD '" + shipperPassword + "'")
	s.run("GRANT INSERT, CREATE ON shop.* TO " + shipper)
	s.run("GRANT USE ON PIPELINE * TO " + shipper)
	b := openAlone(t, s.url+"/dashboard/add")
	b.signIn(shipper, shipperPassword)
	b.until(`document.querySelector('[data-ui=nav-settings]').textContent.includes('` + shipper + `')`)
	return s, b
}

// TestSnippets runs configurations as the page shows them, for a database, a table and a user, until their rows are
// there.
func TestSnippets(t *testing.T) {
	s, b := openAsShipper(t)
	for _, one := range snippets {
		t.Run(one.sender, func(t *testing.T) {
			for _, program := range one.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Skip(err)
				}
			}
			if one.module != "" {
				if said, err := exec.Command(one.needs[0], "--version").Output(); err != nil ||
					!regexp.MustCompile(`\b`+one.module+`\b`).Match(said) {
					t.Skipf("%s has no module %s: %v", one.needs[0], one.module, err)
				}
			}
			table := strings.ReplaceAll(one.sender, "-", "_") + "_1"
			b.do(chromedp.Navigate(s.url + "/dashboard/add?db=shop&t=" + table + "&sender=" + one.sender))
			b.until(`document.querySelector('[data-ui=sender-` + one.sender + `]').ariaPressed === 'true' &&
				/CORDWOOD_PASSWORD to/.test(document.querySelector('[data-ui=snippet]').parentElement.textContent)`)
			text, to := eval[string](b, `document.querySelector('[data-ui=snippet]').textContent`), s
			if one.sender == "syslog" {
				text, to = b.startWithPort(t, text)
			}
			to.t = t
			one.run(t, text)
			to.awaitRows("SELECT count(*) FROM shop." + table + " WHERE " + one.mark)
		})
	}
}

// startWithPort starts a server as the page says, on a free port, for a configuration that sends to this port.
func (b *tab) startWithPort(t *testing.T, text string) (string, *server) {
	t.Helper()
	command := eval[string](b, `document.querySelector('[data-ui=server-port] pre').textContent`)
	parts := regexp.MustCompile(`^cordwood serve (--[a-z-]+) '(.*)'$`).FindStringSubmatch(command)
	if parts == nil {
		t.Fatalf("the page says to start the server by %q", command)
	}
	_, port, _ := net.SplitHostPort(freeAddress(t))
	shown := regexp.MustCompile(`0\.0\.0\.0:(\d+)`).FindStringSubmatch(parts[2])[1]
	s := start(t, parts[1], strings.ReplaceAll(parts[2], shown, port))
	s.run("CREATE DATABASE shop")
	return strings.ReplaceAll(text, shown, port), s
}

// run starts what the page shows. It ends with the test.
func (one snippet) run(t *testing.T, text string) {
	t.Helper()
	dir, bin := t.TempDir(), os.Getenv("CORDWOOD_BIN")
	inDir := strings.NewReplacer("DIR", dir)
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("app.ndjson.gz", compressed(`{"msg":"from a file"}`+"\n"), 0o600)
	write("in.log", "from "+one.sender+"\n", 0o600)
	write("journalctl", journal, 0o700)
	if err := os.Symlink(bin, filepath.Join(dir, "cordwood")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", text)
	if one.config != "" {
		// The page says to add the user to the command of rsyslog.
		text = strings.NewReplacer("/usr/bin/cordwood ingest", bin+" ingest --user "+shipper+":"+shipperPassword,
			"/var/log/", dir+"/", "`CORDWOOD_PASSWORD`", shipperPassword, "system(); ", "").Replace(text)
		write("config", strings.Replace(inDir.Replace(one.config), "BLOCK", text, 1), 0o600)
		args := make([]string, len(one.args))
		for i, arg := range one.args {
			args[i] = inDir.Replace(arg)
		}
		cmd = exec.Command(one.needs[0], args...)
	}
	var said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
	cmd.Env = append(os.Environ(), "CORDWOOD_PASSWORD="+shipperPassword, "PATH="+dir+":"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // also what the shell started
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("it said: %s", said.String())
		}
	})
}

func compressed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// awaitRows waits until a statement that counts rows finds some. A table that does not exist yet has none.
func (s *server) awaitRows(count string) {
	s.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for ticker := time.NewTicker(50 * time.Millisecond); ; <-ticker.C {
		r, err := http.NewRequest(http.MethodPost, s.url+"/v1/sql?format=csv&sql="+url.QueryEscape(count), nil)
		if err != nil {
			s.t.Fatal(err)
		}
		if s.user != "" {
			r.SetBasicAuth(s.user, s.password)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			s.t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && n > 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: %s", count, text)
		}
	}
}
