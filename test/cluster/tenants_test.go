package cluster

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tenantRows is a body of n rows.
func tenantRows(n int) string {
	const row = `{"level":"info","path":"/api/users/17","took_ms":12.5,"text":"a line of a log, as usual"}` + "\n"
	return strings.Repeat(row, n)
}

// tenant sends a body to a database at a steady rate until stop is closed. It returns the times of successful requests,
// and the number of others.
func tenant(
	n *Node, database, body string, every time.Duration, stop <-chan struct{},
) (took []time.Duration, refused int) {
	path := "/v1/ingest?table=logs&pipeline_name=svc_identity&db=" + database
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return took, refused
		case <-tick.C:
		}
		begin := time.Now()
		answer, err := n.Do(http.MethodPost, path, strings.NewReader(body), "Content-Type", "application/x-ndjson")
		if err == nil && answer.Status == http.StatusOK {
			took = append(took, time.Since(begin))
		} else {
			refused++
		}
	}
}

// p99 returns the time within which 99 of 100 requests ended.
func p99(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)*99/100]
}

// TestTenantBeyondItsQuota: database a is sent ten times its quota. It stores its quota and the burst, and database b
// stores all of its rows. Requests for b take at most 1.5 times as long as alone, and 5 ms, in the best of several
// rounds, because other programs share the machine.
func TestTenantBeyondItsQuota(t *testing.T) {
	const limit, burst, rows, round, rounds = 2000, 1, 50, 2 * time.Second, 6
	n := New(t)
	n.Start()
	for _, sql := range []string{
		"CREATE DATABASE a", "CREATE DATABASE b",
		fmt.Sprintf("ALTER DATABASE a SET 'quota.ingest_rows_per_second'='%d', 'quota.ingest_burst'='%ds'", limit, burst),
	} {
		if _, err := n.Query(sql); err != nil {
			t.Fatal(err)
		}
	}
	body := tenantRows(rows)
	const clients = 10
	every := time.Second * rows / limit
	found, stored, floods := false, 0, time.Duration(0)
	for i := range rounds {
		var p [2]time.Duration
		for pressed := range 2 {
			stop := make(chan struct{})
			var others sync.WaitGroup
			var admitted atomic.Int64
			if pressed == 1 {
				for range clients {
					others.Go(func() {
						took, _ := tenant(n, "a", body, every, stop)
						admitted.Add(int64(len(took)) * rows)
					})
				}
			}
			begin := time.Now()
			time.AfterFunc(round, func() { close(stop) })
			took, refused := tenant(n, "b", body, 10*time.Millisecond, stop)
			others.Wait()
			if refused > 0 || len(took) == 0 {
				t.Fatalf("round %d: %d requests for b were refused", i, refused)
			}
			p[pressed] = p99(took)
			if pressed == 1 {
				floods += time.Since(begin)
				stored += int(admitted.Load())
			}
		}
		t.Logf("round %d: p99 of b %s alone, %s while a is sent ten times its quota", i, p[0], p[1])
		if p[1] <= p[0]*3/2+5*time.Millisecond {
			found = true
			break
		}
	}
	if !found {
		t.Error("requests for b took longer in all rounds")
	}
	// Between rounds, the burst fills again.
	most := 1.1*limit*floods.Seconds() + rounds*(burst*limit+rows)
	if stored == 0 || float64(stored) > most {
		t.Errorf("%d rows of a were stored in %s, at most %.0f were expected", stored, floods, most)
	}
}

// TestFloodOfTenants: 32 clients flood database a, which has no quota, with large requests. No request for b is
// refused. The test logs how long the requests for b take.
func TestFloodOfTenants(t *testing.T) {
	n := New(t)
	n.Start()
	for _, sql := range []string{"CREATE DATABASE a", "CREATE DATABASE b"} {
		if _, err := n.Query(sql); err != nil {
			t.Fatal(err)
		}
	}
	large, small := tenantRows(5000), tenantRows(50)
	for _, clients := range []int{0, 32} {
		stop := make(chan struct{})
		var others sync.WaitGroup
		for range clients {
			others.Go(func() { _, _ = tenant(n, "a", large, time.Millisecond, stop) })
		}
		time.AfterFunc(3*time.Second, func() { close(stop) })
		took, refused := tenant(n, "b", small, 20*time.Millisecond, stop)
		others.Wait()
		if refused > 0 || len(took) == 0 {
			t.Fatalf("with %d clients of a, %d requests for b were refused and %d stored", clients, refused, len(took))
		}
		t.Logf("with %d clients of a, %d requests for b had a p99 of %s", clients, len(took), p99(took))
	}
}
