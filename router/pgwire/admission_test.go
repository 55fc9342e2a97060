package pgwire

import (
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestPoolConnects checks that a pool of a program can open all its connections at the same time, although fewer may
// sign in at a time.
func TestPoolConnects(t *testing.T) {
	const pool = 4 * maxStarting
	f := start(t, withUsers(t, "ann=annpw"), func(c *Config) { c.TLS = certificate(t) })
	var wg sync.WaitGroup
	conns := make([]*pgconn.PgConn, pool)
	errs := make([]error, pool)
	for i := range pool {
		wg.Go(func() { conns[i], errs[i] = f.dial("sslmode=require password=annpw") })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("connection %d: %v", i, err)
			continue
		}
		_ = conns[i].Close(t.Context())
	}
	waitFor(t, func() bool { return f.count() == 0 })
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.starting+f.refusing+len(f.line) != 0 {
		t.Errorf("%d are starting, %d are refused, %d are in line", f.starting, f.refusing, len(f.line))
	}
}

// TestRefusedOverTLS checks that a client that wants TLS learns why it is refused: without TLS, it would report that
// the server lacks it.
func TestRefusedOverTLS(t *testing.T) {
	f := start(t, func(c *Config) { c.TLS, c.MaxPerAddress = certificate(t), 1 })
	f.connect(t, "sslmode=require")
	if _, err := f.dial("sslmode=require"); err == nil || !strings.Contains(err.Error(), "SQLSTATE 53300") {
		t.Errorf("one too many: %v", err)
	}
}

// TestCancelWhenFull checks that a statement can be canceled although no more connections are allowed.
func TestCancelWhenFull(t *testing.T) {
	f := start(t, func(c *Config) { c.MaxPerAddress = 1 })
	c := f.connect(t, "")
	done := make(chan error, 1)
	go func() {
		_, _, err := exec(t, c, "SELECT wait")
		done <- err
	}()
	<-f.service.waiting
	if err := c.CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; state(err) != "57014" {
		t.Errorf("canceled: %v", err)
	}
}
