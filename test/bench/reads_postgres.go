package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// streamed is the query whose rows are streamed: a time, two texts and a bigint, which the query computes.
const streamed = `SELECT TIMESTAMP '2026-01-01' + to_microseconds(i) AS ts, 'host' || (i %% 100) AS host, ` +
	`'request ' || i AS msg, i AS n FROM range(%d) AS t(i)`

// readsOfPostgres measures PostgreSQL's protocol beside /v1/sql.
func (s *server) readsOfPostgres(addr string) error {
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, "postgres://bench@"+addr+"/public?sslmode=disable")
	if err != nil {
		return err
	}
	defer conn.Close(ctx) //nolint:errcheck // the results have been printed by then
	if _, err := conn.Prepare(ctx, "one", "SELECT 1", nil); err != nil {
		return err
	}
	const calls = 200
	var prepared, http []time.Duration
	for range readRounds {
		d, err := s.cpuOf(func() error {
			for range calls {
				if _, err := conn.ExecPrepared(ctx, "one", nil, nil, nil).Close(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		prepared = append(prepared, d/calls)
		if d, err = s.cpuOf(func() error {
			for range calls {
				if err := s.fetch(s.url+"/v1/sql", url.Values{"sql": {"SELECT 1"}}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		http = append(http, d/calls)
	}
	fmt.Printf("\n| PostgreSQL's protocol | CPU in ms: median, lowest |\n|---|---|\n"+
		"| `SELECT 1`, prepared | %s |\n| `SELECT 1` by `/v1/sql` | %s |\n", figures(prepared), figures(http))
	if err := s.streams(ctx, conn); err != nil {
		return err
	}
	if err := s.slowReader(ctx, addr); err != nil {
		return err
	}
	return s.idleConnections(ctx, addr)
}

// streams compares a million rows in the formats of PostgreSQL with Arrow.
func (s *server) streams(ctx context.Context, conn *pgconn.PgConn) error {
	sql := fmt.Sprintf(streamed, 1_000_000)
	rows := func(format int16) func() error {
		return func() error {
			r := conn.ExecParams(ctx, sql, nil, nil, nil, []int16{format})
			for r.NextRow() {
				continue
			}
			_, err := r.Close()
			return err
		}
	}
	forms := []struct {
		name string
		call func() error
		took []time.Duration
	}{
		{name: "`/v1/sql`, `format=arrow`", call: func() error {
			return s.fetch(s.url+"/v1/sql", url.Values{"sql": {sql}, "format": {"arrow"}})
		}},
		{name: "binary", call: rows(1)},
		{name: "text", call: rows(0)},
	}
	for range 5 {
		for i := range forms {
			d, err := s.cpuOf(forms[i].call)
			if err != nil {
				return fmt.Errorf("%s: %w", forms[i].name, err)
			}
			forms[i].took = append(forms[i].took, d)
		}
	}
	for i := range forms {
		f := &forms[i]
		fmt.Printf("| a million rows, %s | %s |\n", f.name, figures(f.took))
	}
	arrow := ms(forms[0].took[2])
	fmt.Printf("| rows per CPU-second as a part of Arrow's: binary, text | %.2f, %.2f |\n", arrow/ms(forms[1].took[2]),
		arrow/ms(forms[2].took[2]))
	return nil
}

// memory returns the anonymous memory of the server and its query processes, in bytes.
func (s *server) memory() (sum int64) {
	for _, pid := range append(childrenOf(s.pid()), s.pid()) {
		sum += procField(fmt.Sprintf("/proc/%d/status", pid), "RssAnon:") << 10
	}
	return sum
}

// slowReader measures the memory for a client that stops reading after 1,000 of 10 million rows.
func (s *server) slowReader(ctx context.Context, addr string) error {
	conn, err := pgconn.Connect(ctx, "postgres://bench@"+addr+"/public?sslmode=disable")
	if err != nil {
		return err
	}
	before := s.memory()
	rows := conn.ExecParams(ctx, fmt.Sprintf(streamed, 10_000_000), nil, nil, nil, []int16{1})
	for range 1000 {
		if !rows.NextRow() {
			_, err := rows.Close()
			return errors.Join(errors.New("the rows ended early"), err)
		}
	}
	most := int64(0)
	for range 50 { // the server fills its queues meanwhile
		time.Sleep(100 * time.Millisecond)
		most = max(most, s.memory())
	}
	fmt.Printf("| memory for a client that stops reading | %.1f MiB |\n", float64(most-before)/(1<<20))
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_ = conn.Close(canceled)
	return nil
}

// idleConnections measures the memory of 64 connections, which one user may open.
func (s *server) idleConnections(ctx context.Context, addr string) error {
	const n = 64
	before := s.memory()
	for range n {
		conn, err := pgconn.Connect(ctx, "postgres://bench@"+addr+"/public?sslmode=disable")
		if err != nil {
			return err
		}
		defer conn.Close(ctx) //nolint:errcheck // it was idle
	}
	fmt.Printf("| memory of %d idle connections | %.1f MiB |\n", n, float64(s.memory()-before)/(1<<20))
	return nil
}
