package api

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"cordwood/test/cluster"
)

var speedRows = flag.Int("pg-rows", 1_000_000, "the number of rows of BenchmarkPostgres")

// BenchmarkPostgres compares PostgreSQL's protocol with /v1/sql of the same server, in turns: the time of a small
// statement, and the rows of a second in text and binary format against those of Arrow.
func BenchmarkPostgres(b *testing.B) {
	addr := cluster.FreeAddr(b)
	n := cluster.New(b, "--pg-addr", addr)
	n.Start()
	n.Rows(b, "CREATE TABLE speed (ts TIMESTAMP(9) TIME INDEX, host STRING, message STRING, n BIGINT)")
	n.Rows(b, fmt.Sprintf("INSERT INTO speed SELECT make_timestamp_ns(1767607200000000000 + i * 1000), "+
		"'web-' || (i %% 100), 'GET /products/' || (i * 7919 %% 100000) || ' took ' || (i %% 977) || ' ms', i * 65537 "+
		"FROM range(%d) AS t(i)", *speedRows))
	c, err := pgconn.Connect(b.Context(), "postgres://svc@"+addr+"/public?sslmode=disable")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if _, err := c.Prepare(b.Context(), "one", "SELECT 1", nil); err != nil {
		b.Fatal(err)
	}
	all := "SELECT ts, host, message, n FROM speed"
	took := map[string][]time.Duration{}
	for b.Loop() {
		for range 200 {
			took["one pg"] = append(took["one pg"], since(b, func() error {
				return c.ExecPrepared(b.Context(), "one", nil, nil, nil).Read().Err
			}))
			took["one http"] = append(took["one http"], since(b, func() error { return post(n.HTTP, "SELECT 1", "svcdb_v1") }))
		}
		for range 5 {
			took["arrow"] = append(took["arrow"], since(b, func() error { return post(n.HTTP, all, "arrow") }))
			took["binary"] = append(took["binary"], since(b, func() error { return readAll(b, c, all, 1) }))
			took["text"] = append(took["text"], since(b, func() error { return readAll(b, c, all, 0) }))
			took["csv"] = append(took["csv"], since(b, func() error { return post(n.HTTP, all, "csv") }))
		}
	}
	for _, list := range took {
		slices.Sort(list)
	}
	median := func(name string) float64 { return took[name][len(took[name])/2].Seconds() }
	best := func(name string) float64 { return took[name][0].Seconds() }
	b.ReportMetric(1000*median("one pg"), "ms/pg")
	b.ReportMetric(1000*took["one pg"][len(took["one pg"])*99/100].Seconds(), "ms/pg-p99")
	b.ReportMetric(1000*median("one http"), "ms/http")
	b.ReportMetric(float64(*speedRows)/best("arrow"), "rows/s-arrow")
	for _, name := range []string{"binary", "text", "csv"} {
		b.ReportMetric(best("arrow")/best(name), name+"/arrow")
		b.ReportMetric(median("arrow")/median(name), name+"/arrow-median")
	}
}

// since returns how long a function takes.
func since(b *testing.B, do func() error) time.Duration {
	b.Helper()
	from := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return time.Since(from)
}

// post sends a statement to /v1/sql, and reads the answer.
func post(server, sql, format string) error {
	res, err := http.Post(server+"/v1/sql?format="+format, "application/x-www-form-urlencoded",
		strings.NewReader(url.Values{"sql": {sql}}.Encode()))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", res.StatusCode)
	}
	return err
}

// readAll reads the rows of a query in a format.
func readAll(b *testing.B, c *pgconn.PgConn, sql string, format int16) error {
	b.Helper()
	rows := c.ExecParams(b.Context(), sql, nil, nil, nil, []int16{format})
	n := 0
	for rows.NextRow() {
		n++
	}
	if _, err := rows.Close(); err != nil {
		return err
	}
	if n != *speedRows {
		return fmt.Errorf("%d rows", n)
	}
	return nil
}
