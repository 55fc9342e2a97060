package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestPostgresSessions checks that each router lists the sessions of the clients of all routers, and that a request to
// cancel may reach another router than its statement.
func TestPostgresSessions(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 1, Router: 1})
	addrs := []string{FreeAddr(t), FreeAddr(t)}
	for i, n := range c.Nodes {
		n.set("--pg-addr", addrs[i])
	}
	c.Start()
	var conns []*pgx.Conn
	for i, addr := range addrs {
		conn, err := pgx.Connect(t.Context(),
			fmt.Sprintf("postgres://svc@%s/public?sslmode=disable&application_name=client-%d", addr, i))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		conns = append(conns, conn)
	}
	for _, n := range c.Nodes {
		Eventually(t, Generous(10*time.Second), func() error {
			rows, err := n.Query("SELECT application_name, state, principal, \"database\" FROM svc_private.pg_sessions " +
				"ORDER BY application_name")
			if err == nil && fmt.Sprint(rows) != "[[client-0 idle svc public] [client-1 idle svc public]]" {
				err = fmt.Errorf("sessions: %v", rows)
			}
			return err
		})
	}
	done := make(chan error, 1)
	go func() {
		_, err := conns[0].Exec(t.Context(), "SELECT count(*) FROM range(1000000000000)")
		done <- err
	}()
	Eventually(t, Generous(10*time.Second), func() error {
		rows, err := c.Nodes[1].Query("SELECT count(*) FROM svc_private.pg_sessions s JOIN svc_private.queries q " +
			"ON q.query_id = s.query_id WHERE s.state = 'active' AND s.application_name = 'client-0'")
		if err == nil && fmt.Sprint(rows) != "[[1]]" {
			err = fmt.Errorf("running: %v", rows)
		}
		return err
	})
	other, err := pgconn.ParseConfig("postgres://svc@" + addrs[1] + "/public?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	cancelAt(t, other, conns[0].PgConn())
	select {
	case err := <-done:
		if e := (*pgconn.PgError)(nil); !errors.As(err, &e) || e.Code != "57014" {
			t.Fatalf("the statement ended with: %v", err)
		}
	case <-time.After(Generous(10 * time.Second)):
		t.Fatal("the statement was not canceled")
	}
}

// cancelAt sends the request to cancel the statement of a connection to a server.
func cancelAt(t *testing.T, server *pgconn.Config, conn *pgconn.PgConn) {
	t.Helper()
	nc, err := server.DialFunc(t.Context(), "tcp", fmt.Sprintf("%s:%d", server.Host, server.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	packet := []byte{0, 0, 0, 16, 4, 210, 22, 46}
	packet = append(packet, byte(conn.PID()>>24), byte(conn.PID()>>16), byte(conn.PID()>>8), byte(conn.PID()))
	if _, err := nc.Write(append(packet, conn.SecretKey()...)); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Read(make([]byte, 1)); err == nil {
		t.Fatal("a request to cancel has an answer")
	}
}
