package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/shard/cold/bucket/buckettest"
)

// coldChaos is a table whose rows go to a bucket while nodes are killed and the bucket fails.
type coldChaos struct {
	t     *testing.T
	c     *Cluster
	proxy *buckettest.Proxy
	// batch is the number of rows of a request.
	batch int
	// start is the time of the oldest rows, in seconds. Rows are of this day and the next one, so their objects are
	// joined at once.
	start int64

	mu   sync.Mutex // guards dead
	dead int        // the node that is down, or -1
}

// TestColdTierChaos writes rows into three nodes that move them to a bucket at once and join their objects, kills nodes
// by SIGKILL and makes the bucket fail in all ways, at random, and compares all rows at the end: at once, and when all
// are only in the bucket. With CORDWOOD_CHAOS=1 there are more rounds. TestColdTierScale has more rows.
func TestColdTierChaos(t *testing.T) {
	rounds, rows, batch := 5, 40_000, 500
	if os.Getenv("CORDWOOD_CHAOS") != "" {
		rounds, rows, batch = 30, 300_000, 1_000
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	endpoint, name := buckettest.Serve(t)
	proxy := buckettest.NewProxy(t, endpoint, nil)
	x := &coldChaos{
		t: t, proxy: proxy, batch: batch, dead: -1, start: daysAgo(5),
		c: newColdCluster(t, "--object-storage-url", "s3://"+name+"/prod", "--object-storage-endpoint", proxy.URL),
	}
	x.c.Secret()
	x.c.Start()
	x.c.Nodes[0].mustQuery(t, "CREATE TABLE app (at TIMESTAMP(3) TIME INDEX, n BIGINT, text STRING) "+
		"WITH (append_mode='true', physical_table='x')")
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range rounds {
		x.round(random, rows*round/rounds, rows*(round+1)/rounds)
	}
	proxy.SetPlan(nil)
	x.compare(rows, "after the faults")
	rows = x.join(random, rows)
	Eventually(t, 5*time.Minute, func() error {
		for _, n := range x.c.Nodes {
			if err := n.onlyObjects("app"); err != nil {
				return fmt.Errorf("node %s: %w", n.Name, err)
			}
		}
		return nil
	})
	x.compare(rows, "from the bucket")
	t.Log(proxy.Counts())
}

// write stores rows. A request whose outcome is unknown is repeated with the same key, so each row is stored once.
func (x *coldChaos) write(random *rand.Rand, from, to int) {
	x.t.Helper()
	for ; from < to; from += x.batch {
		var body strings.Builder
		for i := from; i < min(from+x.batch, to); i++ {
			fmt.Fprintf(&body, `{"n":%d,"text":"row %d of %d","at":%d}`+"\n", i, i, i*7919%1_000_003,
				x.start+int64(i%2*86400+i*7919%86400))
		}
		Eventually(x.t, 3*time.Minute, func() error {
			n := x.alive(random)
			a, err := n.Do("POST", coldPath, strings.NewReader(body.String()),
				"Content-Type", "application/x-ndjson", "Idempotency-Key", fmt.Sprintf("batch-%d", from))
			if err == nil && a.Status != 200 {
				err = fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return err
		})
	}
}

// coldPath is where rows are sent whose time is the field "at".
const coldPath = "/v1/ingest?table=app&pipeline_name=svc_identity&custom_time_index=at;epoch;s"

// daysAgo returns when the UTC day some days ago began, in seconds.
func daysAgo(days int64) int64 { return (time.Now().Unix()/86400 - days) * 86400 }

// join writes further rows until each node knows that objects were joined, and returns the number of all rows.
func (x *coldChaos) join(random *rand.Rand, rows int) int {
	x.t.Helper()
	x.t.Logf("%d joins during the faults", joins(x.c))
	forgetFailedJoins(x.c)
	for deadline := time.Now().Add(Generous(3 * time.Minute)); ; {
		err := x.c.joined(2)
		if err == nil {
			x.t.Logf("%d joins", joins(x.c))
			return rows
		}
		if time.Now().After(deadline) {
			x.t.Fatal(err)
		}
		x.write(random, rows, rows+100)
		rows += 100
		<-time.After(time.Second)
	}
}

// alive returns a node that is not down.
func (x *coldChaos) alive(random *rand.Rand) *Node {
	x.mu.Lock()
	defer x.mu.Unlock()
	at := random.IntN(len(x.c.Nodes))
	if at == x.dead {
		at = (at + 1) % len(x.c.Nodes)
	}
	return x.c.Nodes[at]
}

// round makes the bucket fail in some way, or not, and kills a node while rows are written. At the end the node runs.
func (x *coldChaos) round(random *rand.Rand, from, to int) {
	x.t.Helper()
	faults := []buckettest.Fault{
		buckettest.Delay, buckettest.SlowDown, buckettest.Internal, buckettest.Reset, buckettest.LostAnswer, buckettest.Cut,
		buckettest.Short, buckettest.Flip, buckettest.Foreign, buckettest.IgnoreRange, buckettest.LagList,
	}
	switch random.IntN(4) {
	case 0:
		x.proxy.SetPlan(buckettest.Always(faults[random.IntN(len(faults))]))
	case 1:
		x.proxy.SetPlan(nil)
	default:
		x.proxy.SetPlan(buckettest.Random(random.Uint64(), 0.3, faults...))
	}
	at, after := random.IntN(len(x.c.Nodes)), time.Duration(random.IntN(int(time.Second)))
	var kill sync.WaitGroup
	kill.Go(func() {
		<-time.After(after)
		x.mu.Lock()
		x.dead = at
		x.mu.Unlock()
		x.c.Nodes[at].Kill()
	})
	half := (from + to) / 2
	x.write(random, from, half)
	kill.Wait()
	x.write(random, half, to)
	x.c.Nodes[at].Start()
	x.mu.Lock()
	x.dead = -1
	x.mu.Unlock()
	x.moveOn()
}

// moveOn waits until an object was stored, or refused, so that faults meet the moving of rows.
func (x *coldChaos) moveOn() {
	x.t.Helper()
	before := x.proxy.Counts().Requests["PUT"]
	Eventually(x.t, time.Minute, func() error {
		if x.proxy.Counts().Requests["PUT"] == before {
			return errors.New("nothing is stored in the bucket")
		}
		return nil
	})
}

// compare checks that each node finds each row once, with its text.
func (x *coldChaos) compare(rows int, what string) {
	x.t.Helper()
	for _, n := range x.c.Nodes {
		const count = "SELECT count(*), count(DISTINCT n), min(n), max(n) FROM app"
		differ := "SELECT count(*) FROM app WHERE text <> 'row ' || n || ' of ' || (n * 7919 % 1000003) " +
			fmt.Sprintf("OR epoch(at) <> %d + n %% 2 * 86400 + n * 7919 %% 86400", x.start)
		for sql, want := range map[string]string{
			count: fmt.Sprintf("[[%d %d 0 %d]]", rows, rows, rows-1), differ: "[[0]]",
		} {
			var got string
			Eventually(x.t, 4*time.Minute, func() error {
				list, err := n.Query(sql)
				got = fmt.Sprint(list)
				if err == nil && len(list) == 0 {
					err = errors.New("no answer")
				}
				return err
			})
			if got != want {
				x.t.Errorf("%s: node %s: %s: %s, want %s", what, n.Name, sql, got, want)
			}
		}
	}
}
