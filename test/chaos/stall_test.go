package chaos

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/test/cluster"
	"cordwood/test/fault"
)

// TestStalledDisk (T11) makes the fsyncs of a node that leads shards take 30 s. Other nodes must lead its shards
// within 15 s, and writes to shards of other nodes may take at most twice as long as before. The node must end
// itself. After that it is started again.
func TestStalledDisk(t *testing.T) {
	if !long() {
		t.Skip("it takes a minute, and strace: CORDWOOD_CHAOS=1")
	}
	fault.Need(t, "strace")
	c, l := start(t, cluster.Spec{Meta: 1, Shard: 3, Router: 1, Shards: 6}, Options{
		Keyed: 2, Again: 1, Once: 1, Tables: 8,
	})
	for range rounds(1, 3) {
		stall(t, c, l)
	}
	end(t, c, l, 3)
	l.Report(t, 0, 0)
}

func stall(t *testing.T, c *cluster.Cluster, l *Load) {
	n := shardLeader(t, c, 1)
	id, err := n.Identity()
	if err != nil {
		t.Fatal(err)
	}
	// Find the tables on shards that another node leads.
	leads := map[uint32]bool{}
	for _, x := range anyStatus(t, c).Nodes {
		for _, r := range x.Report.GetReplicas() {
			if r.State == "Leader" && x.Node.Id == id.NodeID {
				leads[r.ShardId] = true
			}
		}
	}
	var elsewhere []string
	for name, table := range byName(t, c) {
		if strings.HasPrefix(name, "load_") && !leads[table.Placement[len(table.Placement)-1].ShardId] {
			elsewhere = append(elsewhere, name)
		}
	}
	if len(elsewhere) == 0 {
		t.Fatalf("%s leads the shards of all tables: %v", n.Name, leads)
	}
	slices.Sort(elsewhere)
	before := probe(c.Routers[0], elsewhere, after(15*time.Second))
	l.Fault("the disk of %s stalls, which leads shards %v", n.Name, leads)
	detach := fault.Inject(t, n.Pid(), "inject=fsync,fdatasync:delay_enter=30s")
	begin := time.Now()
	moved := make(chan struct{})
	during := make(chan latencies, 1)
	go func() { during <- probe(c.Routers[0], elsewhere, moved) }()
	cluster.Eventually(t, time.Minute, func() error {
		s, err := status(c)
		if err != nil {
			return err
		}
		left := len(leads)
		for _, x := range s.Nodes {
			for _, r := range x.Report.GetReplicas() {
				if leads[r.ShardId] && r.State == "Leader" && x.Node.Id != id.NodeID && !x.Down {
					left--
				}
			}
		}
		if left > 0 {
			return fmt.Errorf("%d of the shards %v are still led by no node other than %s", left, leads, n.Name)
		}
		return nil
	})
	took := time.Since(begin)
	l.AwaitAcked(t, 500)
	if rest := 30*time.Second - time.Since(begin); rest > 0 {
		<-time.After(rest)
	}
	close(moved)
	got := <-during
	detach()
	status := n.Ended(15 * time.Second)
	t.Logf("others lead the shards of %s, %v, after %s; it ended with status "+
		"%d", n.Name, leads, took.Round(time.Millisecond),
		status)
	t.Logf("writes to other shards: %v before, %v meanwhile", before, got)
	if took > 15*time.Second {
		t.Errorf("others lead the shards of a node with a stalled disk after %s, want at most 15 s", took)
	}
	if got.failed > 0 {
		t.Errorf("%d writes to shards of other nodes failed, such as %s", got.failed, got.why)
	}
	if a, b := before.at(99), got.at(99); b > 2*a && b > 100*time.Millisecond {
		t.Errorf("writes to shards of other nodes take %s (p99) while a disk stalls, and took %s before", b, a)
	}
	if status != 70 {
		t.Errorf("the process with the stalled disk ended with status %d, want 70", status)
		n.Kill()
	}
	n.Launch()
	c.AwaitReady(time.Minute)
	l.AwaitAcked(t, 500)
}

func after(d time.Duration) <-chan struct{} {
	done := make(chan struct{})
	time.AfterFunc(d, func() { close(done) })
	return done
}

// latencies holds the durations of writes, sorted.
type latencies struct {
	took   []time.Duration
	failed int
	why    string
}

func (l latencies) at(percent int) time.Duration {
	if len(l.took) == 0 {
		return 0
	}
	return l.took[min(len(l.took)-1, len(l.took)*percent/100)]
}

func (l latencies) String() string {
	return fmt.Sprintf("%d, median %s, p99 %s, most %s", len(l.took), l.at(50).Round(100*time.Microsecond),
		l.at(99).Round(100*time.Microsecond), l.at(100).Round(100*time.Microsecond))
}

// probe writes one row at a time to each of the tables, whose columns differ from those of a load, until stop is
// closed.
func probe(router *cluster.Node, tables []string, stop <-chan struct{}) (out latencies) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, table := range tables {
		wg.Go(func() {
			for !closed(stop) {
				begin := time.Now()
				err := router.Ingest(table, []byte(`{"probe":1}`))
				took := time.Since(begin)
				mu.Lock()
				if out.took = append(out.took, took); err != nil {
					out.failed++
					out.why = err.Error()
				}
				mu.Unlock()
				<-time.After(20 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	slices.Sort(out.took)
	return out
}
