package chaos

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// memoryOfHostile is the maximum memory of TestHostile's server and its query process, in bytes.
const memoryOfHostile = 2 << 30

// asUser sends every request as one user.
type asUser struct {
	user *url.Userinfo
	next http.RoundTripper
}

func (u asUser) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	password, _ := u.user.Password()
	r.SetBasicAuth(u.user.Username(), password)
	return u.next.RoundTrip(r)
}

// TestHostile (T33) lets untrusted users run all attacks at the same time, repeatedly, on a server with 2 GiB of
// memory, while honest users write and query. The server must not end, the honest users must be served, and no
// acknowledged row may be lost, even after kill -9.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("ann=honest\neve:ro=reads\nship:wo=writes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	group := ""
	if long() {
		group = memoryGroup(t, memoryOfHostile)
	}
	n := cluster.New(t, "--log-level", "warn", "--user-file", users, "--query-memory", "512MiB", "--shard-memory",
		"128MiB",
		"--shard-flush-bytes", "16MiB", "--http-inflight-limit", "256MiB")
	n.Client = &http.Client{
		Timeout: time.Minute, Transport: asUser{url.UserPassword("ann", "honest"), &http.Transport{MaxIdleConnsPerHost: 16}},
	}
	if group != "" {
		limited(t, n, group)
	}
	n.Start()
	h := &hostile{
		t: t, node: n, failures: map[string]int{},
		load: Start(Options{
			Routers: []*cluster.Node{n}, Keyed: 2, Again: 2, Transport: n.Client.Transport, Timeout: time.Minute,
		}),
		attacker: &Attacker{
			Node: n, Reader: url.UserPassword("eve", "reads"), Writer: url.UserPassword("ship", "writes"),
			Patience: 10 * time.Second, Client: &http.Client{Transport: &http.Transport{}},
		},
	}
	h.load.AwaitAcked(t, 100)
	if long() {
		for range rounds(1, 5) {
			h.attack(2 * time.Minute)
			n.Kill()
			n.Start()
		}
	} else {
		h.attack(20 * time.Second)
	}
	h.load.Stop()
	h.load.Check(t, n)
	n.Stop()
	n.Start()
	h.load.Check(t, n)
	t.Logf("%d rows acknowledged, answers %v; %d honest queries answered, %d failed", h.load.Acked(), h.load.Answers(),
		h.answered.Load(), h.failed.Load())
	for text, times := range h.failures {
		t.Logf("honest queries failed %d times: %s", times, text)
	}
	if answered, failed := h.answered.Load(), h.failed.Load(); answered < 9*failed {
		t.Errorf("%d honest queries were answered and %d failed", answered, failed)
	}
}

// hostile is a server with honest and other clients.
type hostile struct {
	t        *testing.T
	node     *cluster.Node
	load     *Load
	attacker *Attacker

	answered, failed atomic.Int64 // counts of honest queries
	mu               sync.Mutex
	failures         map[string]int // by text
}

// attack makes several attackers run all attacks, in turn, for a while.
func (h *hostile) attack(length time.Duration) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	pid, attacks := h.node.Pid(), Attacks()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for ctx.Err() == nil {
				attacks[int(next.Add(1)-1)%len(attacks)].Run(ctx, h.attacker)
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			if err := h.ask(); err != nil {
				h.failed.Add(1)
				h.mu.Lock()
				h.failures[digits.ReplaceAllString(fmt.Sprintf("%.300v", err), "N")]++
				h.mu.Unlock()
			} else {
				h.answered.Add(1)
			}
			pauseFor(ctx, 100*time.Millisecond)
		}
	})
	wg.Wait()
	h.t.Logf("%d attacks in %s", next.Load(), length)
	if !h.node.Running() || h.node.Pid() != pid {
		h.t.Fatalf("the server has ended:\n%s", h.node.Log())
	}
}

// ask runs an honest query. Like other clients, it repeats the query a few times if the answer asks for that.
func (h *hostile) ask() error {
	var err error
	for range 5 {
		if _, err = h.node.Query("SELECT count(*) FROM " + TableName(0)); err == nil ||
			!strings.Contains(err.Error(), ": 503 ") && !strings.Contains(err.Error(), ": 429 ") {
			return err
		}
		<-time.After(time.Second)
	}
	return err
}

func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// limited runs a node in a cgroup.
func limited(t *testing.T, n *cluster.Node, group string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "cordwood")
	text := fmt.Sprintf("#!/bin/sh\necho $$ > %s/cgroup.procs && exec %s \"$@\"\n", group, cluster.Binary(t))
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil { //nolint:gosec // the script is executable
		t.Fatal(err)
	}
	n.Use(script)
}
