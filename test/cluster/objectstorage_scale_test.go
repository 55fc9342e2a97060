package cluster

import (
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/router/httpapi/clusterapi"
	"cordwood/shard/cold/bucket/buckettest"
)

// scaleRows is the number of rows that TestColdTierScale writes; $CORDWOOD_CHAOS_ROWS overrides it.
const scaleRows = 40_000_000

// scale is a table with many rows that go to a bucket while nodes and the server of the bucket are killed at random.
type scale struct {
	t      *testing.T
	c      *Cluster
	server *buckettest.Server
	proxy  *buckettest.Proxy
	rows   int
	// start is the time of the oldest rows, in seconds.
	start int64

	next    atomic.Int64 // the first row of the next request
	stored  atomic.Int64
	retries atomic.Int64

	mu   sync.Mutex // guards dead
	dead int        // the node that is down, or -1

	kills, bucketKills int // only the goroutine of the faults uses them
}

// The number of rows of a request, of requests at the same time, and the most rows in a second; the least time of the
// load, because the faults need time; and the number of days that the rows are of. Each row is of another day than the
// one before, so that all sets have the same newest day and may be joined.
const (
	scaleBatch   = 20_000
	scaleWriters = 3
	scaleRate    = 100_000
	scaleTime    = 4 * time.Minute
	scaleDays    = 2
)

// Columns of the rows, by their number. Text comes from hashes, so it is not more regular than real logs.
var (
	scaleMethods  = []string{"GET", "GET", "GET", "GET", "GET", "GET", "POST", "POST", "PUT", "DELETE"}
	scaleStatuses = []int{200, 200, 200, 200, 200, 200, 200, 201, 204, 301, 304, 400, 401, 404, 404, 429, 500, 502, 503}
)

// scaleColumns are the columns of the table, with the expressions that compute them from n.
var scaleColumns = []struct{ name, kind, from string }{
	{"request_id", "STRING", "md5(n::VARCHAR)"},
	{"host", "STRING", "'web-' || (n * 7919 % 1000003 % 48)"},
	{"method", "STRING", "['GET','GET','GET','GET','GET','GET','POST','POST','PUT','DELETE']" +
		"[1 + n * 104729 % 1000003 % 10]"},
	{"path", "STRING", "'/api/v2/item/' || (n * 15485863 % 1000003 % 120000)"},
	{"status", "BIGINT", "[200,200,200,200,200,200,200,201,204,301,304,400,401,404,404,429,500,502,503]" +
		"[1 + n * 32452843 % 1000003 % 19]"},
	{"bytes", "BIGINT", "n * 49979687 % 1000003 % 50000"},
	{"millis", "BIGINT", "n * 67867967 % 1000003 % 3000"},
}

// appendScaleRow appends row n as a line of JSON. Its time is that many seconds after start.
func appendScaleRow(b []byte, n, start int64) []byte {
	hash := md5.Sum(strconv.AppendInt(nil, n, 10)) //nolint:gosec // the engine has this function too
	const p = 1_000_003
	b = append(b, `{"at":`...)
	b = strconv.AppendInt(b, start+n%scaleDays*86400+n*7919%p%86400, 10)
	b = append(b, `,"n":`...)
	b = strconv.AppendInt(b, n, 10)
	b = append(b, `,"request_id":"`...)
	b = fmt.Appendf(b, "%x", hash)
	b = append(b, `","host":"web-`...)
	b = strconv.AppendInt(b, n*7919%p%48, 10)
	b = append(b, `","method":"`...)
	b = append(b, scaleMethods[n*104729%p%10]...)
	b = append(b, `","path":"/api/v2/item/`...)
	b = strconv.AppendInt(b, n*15485863%p%120_000, 10)
	b = append(b, `","status":`...)
	b = strconv.AppendInt(b, int64(scaleStatuses[n*32452843%p%19]), 10)
	b = append(b, `,"bytes":`...)
	b = strconv.AppendInt(b, n*49979687%p%50_000, 10)
	b = append(b, `,"millis":`...)
	b = strconv.AppendInt(b, n*67867967%p%3000, 10)
	return append(b, "}\n"...)
}

// TestColdTierScale (long) writes 40 million rows into three nodes that move them to a bucket and join the objects, and
// kills nodes and the server of the bucket by SIGKILL all the time, while requests to the bucket fail in all ways. Then
// it compares all rows, at once and from the bucket alone, counts the requests and bytes of queries at the bucket, and
// adds a node.
func TestColdTierScale(t *testing.T) {
	if os.Getenv("CORDWOOD_CHAOS") == "" {
		t.Skip("it writes 40 million rows: CORDWOOD_CHAOS=1")
	}
	rows := scaleRows
	if text := os.Getenv("CORDWOOD_CHAOS_ROWS"); text != "" {
		var err error
		if rows, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d rows", seed, rows)
	server := buckettest.NewServer(t)
	proxy := buckettest.NewProxy(t, server.Endpoint, nil)
	x := &scale{
		t: t, server: server, proxy: proxy, rows: rows, start: daysAgo(5), dead: -1,
		c: NewCluster(t, Spec{All: 3, Shards: 2, Args: []string{
			"--object-storage-url", "s3://" + server.Bucket + "/prod", "--object-storage-endpoint", proxy.URL,
			"--object-storage-upload-after", "5s", "--object-storage-upload-bytes", "96MiB",
			"--object-storage-local-for", "1s", "--object-storage-cache-bytes", "4GiB", "--shard-flush-age", "5s",
			"--query-timeout", "5m",
		}}),
	}
	x.c.Secret()
	x.c.Start()
	var columns strings.Builder
	for _, c := range scaleColumns {
		columns.WriteString(", " + c.name + " " + c.kind)
	}
	x.c.Nodes[0].mustQuery(t, "CREATE TABLE app (at TIMESTAMP(3) TIME INDEX, n BIGINT"+columns.String()+
		") WITH (append_mode='true')")
	x.load(rand.New(rand.NewPCG(seed, 1)))
	x.compare("after the faults")
	x.awaitMoved()
	x.awaitJoined()
	x.measure()
	x.compare("from the bucket")
	x.addNode()
}

// load writes all rows while nodes and the bucket fail. At the end, everything runs.
func (x *scale) load(random *rand.Rand) {
	begin, ended := time.Now(), make(chan struct{})
	var writers, faults sync.WaitGroup
	for range scaleWriters {
		writers.Go(func() {
			for {
				from := int(x.next.Add(scaleBatch)) - scaleBatch
				if from >= x.rows || x.t.Failed() {
					return
				}
				<-time.After(time.Until(begin.Add(max(time.Duration(from)*time.Second/scaleRate,
					time.Duration(float64(scaleTime)*float64(from)/float64(x.rows))))))
				x.write(from, min(from+scaleBatch, x.rows))
			}
		})
	}
	seed := random.Uint64()
	faults.Go(func() {
		random := rand.New(rand.NewPCG(seed, 2))
		for !closed(ended, time.Duration(2+random.IntN(12))*time.Second) {
			x.fault(random)
			x.t.Logf("%v: %d rows, %d kills of nodes, %d of the bucket", time.Since(begin).Round(time.Second),
				x.stored.Load(), x.kills, x.bucketKills)
		}
	})
	writers.Wait()
	took := time.Since(begin)
	close(ended)
	faults.Wait()
	x.proxy.SetPlan(nil)
	x.t.Logf("%d rows in %v, %d requests repeated; %d kills of nodes, %d of the bucket, %d joins; at the bucket: %v",
		x.rows, took.Round(time.Second), x.retries.Load(), x.kills, x.bucketKills, joins(x.c), x.proxy.Counts())
}

// closed waits for a while, and reports whether c was closed.
func closed(c <-chan struct{}, wait time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(wait):
		return false
	}
}

// write stores rows. A request whose outcome is unknown is repeated with the same key, so each row is stored once.
func (x *scale) write(from, to int) {
	body := make([]byte, 0, (to-from)*200)
	for i := from; i < to; i++ {
		body = appendScaleRow(body, int64(i), x.start)
	}
	key := fmt.Sprintf("batch-%d", from)
	for deadline := time.Now().Add(10 * time.Minute); ; {
		a, err := x.alive().Do("POST", coldPath, strings.NewReader(string(body)),
			"Content-Type", "application/x-ndjson", "Idempotency-Key", key)
		if err == nil && a.Status == 200 {
			x.stored.Add(int64(to - from))
			return
		}
		if err == nil {
			err = fmt.Errorf("%d %s", a.Status, a.Body)
		}
		if time.Now().After(deadline) {
			x.t.Errorf("rows from %d on cannot be stored: %v", from, err)
			return
		}
		x.retries.Add(1)
		<-time.After(50 * time.Millisecond)
	}
}

// alive returns a node that is not down.
func (x *scale) alive() *Node {
	x.mu.Lock()
	defer x.mu.Unlock()
	at := rand.IntN(len(x.c.Nodes))
	if at == x.dead {
		at = (at + 1) % len(x.c.Nodes)
	}
	return x.c.Nodes[at]
}

// fault makes requests to the bucket fail in some way, or not, and kills a node, or the server of the bucket.
func (x *scale) fault(random *rand.Rand) {
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
		x.proxy.SetPlan(buckettest.Random(random.Uint64(), 0.1, faults...))
	}
	down := time.Duration(random.IntN(int(3 * time.Second)))
	if random.IntN(3) == 0 {
		_ = x.server.Kill() // it was killed, so there is an error
		x.bucketKills++
		<-time.After(down)
		if err := x.server.Start(); err != nil {
			x.t.Errorf("start the server of the bucket: %v", err)
		}
		return
	}
	at := random.IntN(len(x.c.Nodes))
	x.setDead(at)
	x.c.Nodes[at].Kill()
	x.kills++
	<-time.After(down)
	if err := x.c.Nodes[at].TryStart(3 * time.Minute); err != nil {
		x.t.Errorf("start node %s: %v", x.c.Nodes[at].Name, err)
	}
	x.setDead(-1)
}

func (x *scale) setDead(at int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dead = at
}

// compare checks that each row is there once, with all its columns.
func (x *scale) compare(what string) {
	begin := time.Now()
	sql, want := "SELECT count(*), count(DISTINCT n), min(n), max(n)", ""
	for _, c := range scaleColumns {
		sql += ", count(*) FILTER (" + c.name + " IS DISTINCT FROM " + c.from + ")"
		want += " 0"
	}
	sql += fmt.Sprintf(", count(*) FILTER (epoch(at) <> %d + n %% %d * 86400 + n * 7919 %% 1000003 %% 86400)", x.start,
		scaleDays)
	want += " 0"
	const part = 5_000_000 // the engine has all numbers of a statement in memory
	for from := 0; from < x.rows; from += part {
		to := min(from+part, x.rows)
		n := x.c.Nodes[from/part%len(x.c.Nodes)]
		x.want(n, what, fmt.Sprintf("%s FROM app WHERE n >= %d AND n < %d", sql, from, to),
			fmt.Sprintf("[[%d %d %d %d%s]]", to-from, to-from, from, to-1, want))
	}
	for _, n := range x.c.Nodes {
		x.want(n, what, "SELECT count(*), min(n), max(n) FROM app", fmt.Sprintf("[[%d 0 %d]]", x.rows, x.rows-1))
	}
	x.t.Logf("%s: all rows compared in %v", what, time.Since(begin).Round(time.Second))
}

// want compares the answer to a statement.
func (x *scale) want(n *Node, what, sql, want string) {
	x.t.Helper()
	var got string
	Eventually(x.t, 5*time.Minute, func() error {
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

// awaitMoved waits until the rows are only in the bucket. A few may share files with tables of the server, which stay.
func (x *scale) awaitMoved() {
	begin := time.Now()
	const objects = "SELECT sum(rows), count(*), sum(bytes) FROM svc_private.segments " +
		"WHERE table_name = 'app' AND location = 'bucket'"
	var list [][]any
	Eventually(x.t, 15*time.Minute, func() error {
		var err error
		if list, err = x.c.Nodes[0].Query(objects); err != nil {
			return err
		}
		if rows, _ := strconv.Atoi(fmt.Sprint(list[0][0])); rows < x.rows/100*99 {
			return fmt.Errorf("rows, objects and bytes only in the bucket are %v", list)
		}
		return nil
	})
	x.t.Logf("all rows are in the bucket after another %v; only there are rows, objects, bytes %v; %v",
		time.Since(begin).Round(time.Second), list, x.proxy.Counts())
}

// awaitJoined waits until all objects were joined that may be, because nothing else should read from the bucket while
// queries are measured. If there are too few objects, it writes further rows.
func (x *scale) awaitJoined() {
	begin := time.Now()
	forgetFailedJoins(x.c)
	for before, last := 0, begin; time.Since(last) < 20*time.Second; {
		<-time.After(2 * time.Second)
		switch n, err := joins(x.c), x.c.joined(2); {
		case err != nil && time.Since(begin) > Generous(5*time.Minute):
			x.t.Fatal(err)
		case err != nil:
			x.write(x.rows, x.rows+1000)
			x.rows += 1000
			last = time.Now()
		case n > before:
			before, last = n, time.Now()
		}
	}
	list, err := x.c.Nodes[0].Query("SELECT count(*), sum(bytes) FROM svc_private.segments " +
		"WHERE table_name = 'app' AND location = 'bucket'")
	x.t.Logf("%d joins, the last ones after another %v; objects and bytes %v %v", joins(x.c),
		time.Since(begin).Round(time.Second), list, err)
}

// scaleQueries are measured at the bucket. The statement before is not: it brings the ends of objects, and for ids also
// the filters, which are local in general because they have a part of the cache for themselves.
var scaleQueries = []struct{ what, before, sql string }{
	{"all rows", "", "SELECT count(*) FROM app"},
	{"count by status", "", "SELECT status, count(*) FROM app GROUP BY status ORDER BY status"},
	{"substring in path", "", "SELECT count(*) FROM app WHERE path LIKE '%9/11%' OR path LIKE '%item/777%'"},
	{"p99 of a time by host", "", "SELECT host, quantile_cont(millis, 0.99) FROM app GROUP BY host ORDER BY host"},
	{"newest 100", "", "SELECT * FROM app ORDER BY at DESC LIMIT 100"},
	{"one id", "", "SELECT n, path FROM app WHERE request_id = 'ID'"},
	{
		"one id, filters local", "SELECT n FROM app WHERE request_id = 'there is no such id'",
		"SELECT n, path FROM app WHERE request_id = 'ID'",
	},
	{"errors of one path", "", "SELECT n, host FROM app WHERE path = '/api/v2/item/777' AND status = 500 ORDER BY n"},
}

// measure counts the requests and bytes of queries at the bucket: with an empty cache, and once more. Each request to
// the bucket takes 30 ms.
func (x *scale) measure() {
	n := x.c.Nodes[0]
	x.proxy.SetPlan(buckettest.Always(buckettest.Delay))
	defer x.proxy.SetPlan(nil)
	id := fmt.Sprintf("%x", md5.Sum([]byte(strconv.Itoa(x.rows/3)))) //nolint:gosec // the engine has this function too
	for _, q := range scaleQueries {
		sql := strings.ReplaceAll(q.sql, "ID", id)
		for _, n := range x.c.Nodes {
			n.Stop()
			if err := os.RemoveAll(filepath.Join(n.Dir, "cache")); err != nil {
				x.t.Fatal(err)
			}
		}
		x.c.Start()
		// The ends of objects are fetched after the start, as after each offload; a query of other data starts the
		// query process.
		n.mustQuery(x.t, "SELECT count(*) FROM information_schema.tables")
		x.settled()
		if q.before != "" {
			n.mustQuery(x.t, q.before)
		}
		cold, coldBytes, coldTime, first := x.run(n, sql)
		again, _, warmTime, second := x.run(n, sql)
		if again > 0 { // another node leads the shard, and has its own cache
			again, _, warmTime, second = x.run(n, sql)
		}
		x.t.Logf("%s: %d requests, %d bytes, %v; again: %d requests, %v", q.what, cold, coldBytes,
			coldTime.Round(time.Millisecond), again, warmTime.Round(time.Millisecond))
		if first != second {
			x.t.Errorf("%s: %s, and then %s", q.what, first, second)
		}
		if again != 0 {
			x.t.Errorf("%s: %d requests for what is in the cache", q.what, again)
		}
	}
}

// settled waits until nothing is read from the bucket any more.
func (x *scale) settled() {
	for before := -1; ; {
		now := x.proxy.Counts().Requests["GET"]
		if now == before {
			return
		}
		before = now
		<-time.After(2 * time.Second)
	}
}

// run returns the GET requests to the bucket, the bytes of answers, the time, and the answer of a statement.
func (x *scale) run(n *Node, sql string) (requests int, bytes int64, took time.Duration, answer string) {
	before, begin := x.proxy.Counts(), time.Now()
	rows, err := n.Query(sql)
	took = time.Since(begin)
	if err != nil {
		x.t.Errorf("%s: %v", sql, err)
	}
	after := x.proxy.Counts()
	return after.Requests["GET"] - before.Requests["GET"], after.Sent - before.Sent, took, fmt.Sprint(rows)
}

// moved returns nil if all replicas are ready, and none is on a node with an id and a name. The node itself stays a
// member until it was silent for so long that it cannot be alive.
func (x *scale) moved(id, name string) error {
	a, err := x.c.Nodes[0].Do("GET", "/v1/cluster", nil)
	if err != nil {
		return err
	}
	var s clusterapi.Status
	if err := json.Unmarshal(a.Body, &s); err != nil {
		return fmt.Errorf("%d %s: %w", a.Status, a.Body, err)
	}
	for _, sh := range s.Shards {
		still := slices.Contains(sh.Replicas, id) || slices.Contains(sh.Replicas, name)
		if still || sh.State != "ok" || len(sh.Replicas) != 3 || len(sh.Unready) > 0 {
			return fmt.Errorf("shard %d is %s with replicas %q", sh.ID, sh.State, sh.Replicas)
		}
	}
	return nil
}

// addNode adds a node, drains another one onto it, and says how long the replicas take and what they read.
func (x *scale) addNode() {
	before := x.proxy.Counts()
	n := x.c.Add("router,meta,shard")
	begin := time.Now()
	n.Start()
	lost := x.c.Nodes[2]
	former, err := lost.Identity()
	if err != nil {
		x.t.Fatal(err)
	}
	took := time.Since(begin)
	lost.Kill()
	begin = time.Now()
	Eventually(x.t, 2*time.Minute, func() error { // the new node has to be known, and the other one missed
		_, err := command(x.t, "node", "decommission", "--yes", former.NodeID, "--server", x.c.Nodes[0].HTTP)
		return err
	})
	accepted := time.Since(begin)
	Eventually(x.t, 2*time.Minute, func() error { return x.moved(former.NodeID, lost.Name) })
	moved := time.Since(begin)
	after := x.proxy.Counts()
	x.t.Logf("a new node is ready after %v; %v after a node was killed it can be decommissioned, and its replicas are "+
		"ready on the new one after %v; %d requests and %d bytes at the bucket",
		took.Round(time.Millisecond), accepted.Round(time.Millisecond), moved.Round(time.Millisecond),
		after.Requests["GET"]-before.Requests["GET"], after.Sent-before.Sent)
	x.want(n, "the new node", "SELECT count(*), min(n), max(n) FROM app", fmt.Sprintf("[[%d 0 %d]]", x.rows, x.rows-1))
}
