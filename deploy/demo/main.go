// Command demo demonstrates cordwood: it starts a server on a temporary folder, sends it an access
// log and a nested application log, and prints the results of SQL queries over them. The server
// runs until Ctrl-C.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	bin := flag.String("bin", "bin/cordwood", "the server")
	exit := flag.Bool("exit", false, "stop the server again instead of leaving it running")
	rows := flag.Int("rows", 5000, "lines of access log to send")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin, *rows, *exit); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin string, rows int, exit bool) (err error) {
	dir, err := os.MkdirTemp("", "cordwood-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	httpAddr, rpcAddr := addr("127.0.0.1:4000"), addr("127.0.0.1:4001")

	say("Starting a server on %s, data in %s", httpAddr, dir)
	begin := time.Now()
	server := exec.Command(bin, "serve", "--data-dir", dir+"/data", "--http-addr", httpAddr, "--rpc-addr", rpcAddr,
		"--log-level", "warn", "--log-format", "text")
	server.Stderr = os.Stderr
	// Ctrl-C reaches only this program, which then shuts the server down.
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start %s: %w (make build makes it)", bin, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	defer func() {
		if serr := server.Process.Signal(syscall.SIGTERM); serr == nil {
			err = errors.Join(err, <-ended)
		}
	}()
	d := demo{base: "http://" + httpAddr}
	if err := d.waitReady(ctx, ended); err != nil {
		return err
	}
	say("Ready after %s", time.Since(begin).Round(time.Millisecond))

	if err := d.show(ctx, rows); err != nil {
		return err
	}
	if exit {
		say("Stopping")
		return nil
	}
	say("The server stays up. Go on with:")
	fmt.Printf(`
  curl -X POST '%[1]s/v1/ingest?table=mine&pipeline_name=svc_identity' \
       -H 'Content-Type: application/json' -d '[{"level":"info","user":{"id":7}},{"level":"warn"}]'
  curl '%[1]s/v1/sql?format=table' --data-urlencode 'sql=SELECT * FROM mine'
  curl '%[1]s/v1/sql?format=table' --data-urlencode 'sql=SELECT path, count(*) AS hits FROM access `+
		`GROUP BY path ORDER BY hits DESC LIMIT 5'
  %[2]s --server %[1]s sql

Ctrl-C stops it and removes its data.
`, d.base, bin)
	select {
	case <-ctx.Done():
		fmt.Println()
		say("Stopping")
		return nil
	case err := <-ended:
		ended <- nil
		return fmt.Errorf("server ended: %w", err)
	}
}

type demo struct{ base string }

func (d demo) show(ctx context.Context, rows int) error {
	accessURL := d.base + "/v1/ingest?" + url.Values{
		"table": {"access"}, "pipeline_name": {"svc_identity"}, "custom_time_index": {"time;datestr;%Y-%m-%dT%H:%M:%S%.f%#z"},
	}.Encode()
	body := accessLog(rows, time.Now())
	say("Sending %d lines of access log (%d KB); the column time becomes the time index", rows, len(body)/1000)
	if err := d.post(ctx, accessURL, body); err != nil {
		return err
	}
	appURL := d.base + "/v1/ingest?table=app&pipeline_name=svc_identity"
	body = appLog(time.Now())
	say("Sending a nested application log:")
	fmt.Print(indent(strings.SplitAfterN(string(body), "\n", 2)[0]))
	if err := d.post(ctx, appURL, body); err != nil {
		return err
	}
	for _, sql := range []string{
		`DESCRIBE app`,
		`SELECT status, count(*) AS requests, round(avg(duration_us) / 1000, 1) AS avg_ms FROM access GROUP BY ` +
			`status ORDER BY requests DESC`,
		`SELECT time_bucket(INTERVAL 1 minute, time) AS minute, count(*) AS hits FROM access GROUP BY minute ORDER ` +
			`BY minute DESC LIMIT 5`,
		`SELECT level, "service.name", msg, "http.status", tags FROM app WHERE level <> 'info' ORDER BY ` +
			`svc_timestamp LIMIT 5`,
	} {
		say("%s", sql)
		out, err := d.do(ctx, http.MethodPost, d.base+"/v1/sql?format=table", "application/sql", []byte(sql))
		if err != nil {
			return err
		}
		fmt.Print(indent(string(out)))
	}
	return nil
}

func (d demo) post(ctx context.Context, u string, body []byte) error {
	out, err := d.do(ctx, http.MethodPost, u, "application/x-ndjson", body)
	if err == nil {
		fmt.Print(indent(string(out)))
	}
	return err
}

func (d demo) do(ctx context.Context, method, u, ctype string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, u, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", ctype)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, u, resp.Status, out)
	}
	return out, err
}

func (d demo) waitReady(ctx context.Context, ended chan error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := d.do(ctx, http.MethodGet, d.base+"/ready", "", nil); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			ended <- nil
			return fmt.Errorf("server ended before it was ready: %w", err)
		}
	}
}

// addr returns the wanted address if it is free, otherwise another free one.
func addr(want string) string {
	l, err := net.Listen("tcp", want)
	if err != nil {
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return want
		}
	}
	defer l.Close()
	return l.Addr().String()
}

func say(format string, args ...any) { fmt.Printf("\n● "+format+"\n", args...) }

func indent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("  " + line)
	}
	if s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}
