package clients

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// client is a program that sends logs, with the expected result. To add a client, add a row to one of the tables. The
// tests below run for every row.
type client struct {
	// name is the name of the test and, in programs in other languages, of the client.
	name string
	// send sends the records of a job. If it is nil, the program of the table does.
	send func(s *server, j job) error
	// address returns the address that the client sends to.
	address func(s *server) string
	// table is where the records are stored. mark and at are SQL expressions for the mark and the time of a record.
	table, mark, at string
	// columns is a condition that each row must meet. LEVEL stands for the level of a record, MARK for its mark.
	columns string
	again   again
	// doubles is true if the protocol has no key, so that a record may be stored twice if a response is lost.
	doubles bool
	// socket is true if the protocol cannot refuse data. The server stops reading instead.
	socket bool
	// slow is true if the client sends one request a second. It may not be refused, because memory may be available
	// then.
	slow bool
	// often is true if the client is also tested with a server that is killed five times.
	often bool
	// outage is true if the client is also tested with three nodes, of which two stop for a time, so that writes
	// fail.
	outage bool
	// perKill is the number of records that the client may lose each time the server is killed. These are the records
	// of running requests, if the client retries only when it cannot connect.
	perKill int
	// datagrams is true if records are lost while the server is down or busy, so that the client is tested only with a
	// server that accepts everything.
	datagrams bool
}

// again is what sends records again that could not be sent.
type again int

const (
	nobody   again = iota // nobody: the records are lost
	itself                // the client
	programs              // the program, as the client reports such records to it
)

// job is the records that a client sends: those with the marks from first to last, with a pause after every 20.
type job struct {
	first, last int
	pause       time.Duration
}

func (s *server) elasticAddr() string { return s.elasticsearch }
func (s *server) lokiAddr() string    { return s.loki }
func (s *server) splunkAddr() string  { return s.splunk }
func (s *server) otlpAddr() string    { return s.otlp }
func (s *server) callsAddr() string   { return s.calls }
func (s *server) datadogAddr() string { return s.datadog }
func (s *server) syslogAddr() string  { return s.syslog }
func (s *server) gelfAddr() string    { return s.gelf }
func (s *server) fluentAddr() string  { return s.forward }
func (s *server) usersAddr() string   { return s.users }

// program returns a function that runs a program with the arguments client, marks, address and pause.
func program(command ...string) func(c *client, s *server, j job) error {
	return func(c *client, s *server, j job) error {
		ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
		defer cancel()
		args := append(command[1:len(command):len(command)], c.name, strconv.Itoa(j.first), strconv.Itoa(j.last),
			c.address(s), strconv.FormatInt(j.pause.Milliseconds(), 10))
		cmd := exec.CommandContext(ctx, command[0], args...)
		cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_LOGS_HEADERS=x-svc-log-table-name=records",
			"OTEL_EXPORTER_OTLP_LOGS_TIMEOUT="+timeoutOf(command[0]))
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := cmd.CombinedOutput()
		if len(out) > 5000 {
			out = append(out[:2500:2500], out[len(out)-2500:]...)
		}
		if err != nil {
			s.t.Logf("%s said:\n%s", c.name, out)
		}
		return err
	}
}

// timeoutOf returns a time limit of 30 s in the unit that OpenTelemetry's exporters for the program's language use.
func timeoutOf(program string) string {
	if strings.Contains(program, "python") {
		return "30"
	}
	return "30000"
}

const (
	// pace is the pause after every 20 records in tests that disturb the server: the delivery then takes 4 s.
	pace = 40 * time.Millisecond
	// disturbAt is the number of stored records at which such a test disturbs the server.
	disturbAt = 200
)

// run tests each client of a table: with a server that accepts everything, with one that is killed and restarted during
// the delivery, and with one whose memory for bodies is used up.
func run(t *testing.T, table []client, send func(c *client, s *server, j job) error) {
	for _, c := range table {
		if c.send == nil {
			c.send = func(s *server, j job) error { return send(&c, s, j) }
		}
		if c.at == "" {
			c.at = "svc_timestamp"
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			t.Run("whole", c.whole)
			if !c.datagrams {
				t.Run("pressed", c.pressed)
			}
			if c.again != nobody {
				t.Run("killed", c.killed)
			}
			if c.often {
				t.Run("killed often", c.killedOften)
			}
			if c.outage {
				t.Run("blocked", c.blocked)
			}
		})
	}
}

// whole sends to a server that accepts everything.
func (c *client) whole(t *testing.T) {
	s := start(t)
	if err := c.send(s, job{last: Records}); err != nil {
		t.Fatal(err)
	}
	c.check(s, false, 0)
}

// killed kills the server during the delivery, and restarts it on the same ports and data.
func (c *client) killed(t *testing.T) {
	s := start(t)
	done := c.begin(s)
	s.end(syscall.SIGKILL)
	s.run()
	if err := <-done; err != nil {
		t.Error(err)
	}
	c.check(s, c.doubles, c.perKill)
}

// killedOften kills the server five times. Before each kill it waits until more records are stored, or the client is
// done.
func (c *client) killedOften(t *testing.T) {
	const kills = 5
	s := start(t)
	done := c.beginAt(s, 3*pace)
	for range kills {
		s.end(syscall.SIGKILL)
		s.run()
		before := c.count(s)
		await(t, func() bool { return len(done) > 0 || c.count(s) > before })
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	c.check(s, c.doubles, kills*c.perKill)
}

// count returns the number of rows, or 0 if it is unknown.
func (c *client) count(s *server) int {
	row, err := s.query("SELECT count(*) FROM " + c.table)
	if err != nil || len(row) != 1 {
		return 0
	}
	n, _ := strconv.Atoi(row[0]) // 0 if it is not a number
	return n
}

// await waits until a condition holds.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(30 * time.Second); !holds(); <-ticker.C {
		if time.Now().After(end) {
			t.Fatal("no more records arrive")
		}
	}
}

// pressed uses up the memory for bodies for a time during the delivery. Requests of clients that retry are refused,
// and requests of other clients wait.
func (c *client) pressed(t *testing.T) {
	policy := "wait"
	if c.again != nobody {
		policy = "fail"
	}
	s := start(t, "--http-inflight-limit", strconv.Itoa(pressLimit), "--http-inflight-policy", policy)
	refused := func() bool { return s.metric("cordwood_http_bodies_refused_total", "in_flight") > 0 }
	done := c.begin(s)
	if policy == "wait" {
		s.press()
	} else { // do not wait for clients that are done, or whose protocol cannot refuse data
		s.pressUntil(func() bool { return c.socket || c.slow || refused() || len(done) > 0 })
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if policy == "fail" && !c.socket && !c.slow && !refused() {
		t.Error("nothing was refused")
	}
	c.check(s, false, 0)
}

// begin starts the delivery, and returns when some of the records are stored. The channel receives the result.
func (c *client) begin(s *server) <-chan error {
	s.t.Helper()
	return c.beginAt(s, pace)
}

// beginAt is begin with another pause after every 20 records.
func (c *client) beginAt(s *server, pause time.Duration) <-chan error {
	s.t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.send(s, job{last: Records, pause: pause}) }()
	s.await(fmt.Sprintf("SELECT count(*) >= %d FROM %s", disturbAt, c.table), "true")
	select {
	case err := <-done:
		s.t.Fatalf("the client was done before the test disturbed the server: %v", err)
	default:
	}
	return done
}

// check waits until at most lost marks are missing from the table. It fails if more are missing, if a mark is stored
// twice although doubles is false, or if the columns of a row are wrong.
func (c *client) check(s *server, doubles bool, lost int) {
	s.t.Helper()
	columns := strings.NewReplacer("MARK", "mark_number",
		"LEVEL", "CASE WHEN mark_number % 10 = 0 THEN 'error' ELSE 'info' END").Replace(c.columns)
	sql := fmt.Sprintf(`SELECT count(DISTINCT mark_number) BETWEEN %d AND %d, count(*) = count(CASE WHEN (%s)
		AND its_time BETWEEN now() - INTERVAL '5 minutes' AND now() + INTERVAL '1 minute'
		AND mark_number BETWEEN 0 AND %d THEN 1 END)
		FROM (SELECT *, CAST(%s AS BIGINT) AS mark_number, %s AS its_time FROM %s) AS t`,
		Records-lost, Records, columns, Records-1, c.mark, c.at, c.table)
	s.await(sql, "true", "true")
	row, err := s.query(fmt.Sprintf("SELECT count(*) - count(DISTINCT CAST(%s AS BIGINT)) FROM %s", c.mark, c.table))
	switch {
	case err != nil:
		s.t.Error(err)
	case row[0] != "0" && !doubles:
		s.t.Errorf("%s duplicate rows", row[0])
	case doubles:
		s.t.Logf("%s doubles", row[0])
	}
	if s.t.Failed() {
		row, err := s.query(fmt.Sprintf(`SELECT count(*), min(n), max(n) FROM generate_series(0, %d) AS g(n)
			WHERE n NOT IN (SELECT CAST(%s AS BIGINT) FROM %s)`, Records-1, c.mark, c.table))
		s.t.Logf("marks that are missing: %q %v", row, err)
		row, err = s.query(fmt.Sprintf("SELECT * FROM %s ORDER BY %s LIMIT 1", c.table, c.at))
		s.t.Logf("the first row: %q %v", row, err)
	}
}

const markInText = `regexp_extract(message, 'mark=(\d+)', 1)`

func TestNode(t *testing.T) {
	needNode(t)
	run(t, nodeClients, program("node", filepath.Join("node", "send.mjs")))
}

func TestPython(t *testing.T) {
	needPython(t)
	run(t, pythonClients, program(filepath.Join("python", "venv", "bin", "python"), filepath.Join("python", "send.py")))
}

func TestJava(t *testing.T) {
	needJava(t)
	run(t, javaClients, program("java", "@"+filepath.Join("java", "target", "arguments"), "Send"))
}
