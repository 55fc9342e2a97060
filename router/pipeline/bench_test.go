package pipeline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"cordwood/proto/schema"
	"cordwood/router/vrl/jsonscan"
)

// accessLines returns n access log records of about 520 bytes and 14 fields, two of which are objects.
func accessLines(n int) []byte {
	r := rand.New(rand.NewPCG(1, 1))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var b []byte
	for i := range n {
		b = fmt.Appendf(b, `{"time":"2026-01-05T00:%02d:%02d.%03dZ","host":"edge-%02d.fra.example.com",`+
			`"remote_addr":"%d.%d.%d.%d","method":"%s",`+
			`"path":"/api/v1/%s/%d","protocol":"HTTP/1.1","status":%s,"bytes":%d,"request_time":%.3f,"referer":"%s",`+
			`"user_agent":"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.0.0 `+
			`Safari/537.36",`+
			`"request_id":"%016x%016x","upstream":{"addr":"10.42.0.%d:8080","status":%s,"response_time":%.3f},`+
			`"geo":{"country":"%s"}}`+"\n",
			i/60%60, i%60, r.IntN(1000), r.IntN(12), 1+r.IntN(222), r.IntN(256), r.IntN(256), r.IntN(256),
			pick("GET", "GET", "GET", "POST"),
			pick("users", "orders", "products", "sessions"), r.IntN(200_000), pick("200", "200", "201", "404"),
			r.IntN(20_000), r.Float64(),
			pick("-", "https://www.example.com/search"), 90+r.IntN(50), r.Uint64(), r.Uint64(), r.IntN(9), pick("200", "502"),
			r.Float64(), pick("US", "DE", "IN"))
	}
	return pad(b)
}

// appLines returns n application log records of several shapes: common fields, fields of the kind of event, and a
// nested object.
func appLines(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	events := []string{
		`"http":{"method":"GET","route":"/v1/users","status_code":200,"duration_ms":12.25,"bytes_out":%d},"user_id":"u-%d"`,
		`"http":{"method":"POST","route":"/v1/orders","status_code":201,"duration_ms":99.5,"bytes_out":%d},` +
			`"user_id":"u-%d","idempotency_key":"a1b2c3d4e5f60718"`,
		`"db":{"system":"postgresql","statement":"SELECT id, state FROM orders WHERE user_id = $1 LIMIT ` +
			`%d","rows":%d,"duration_ms":1.75}`,
		`"cache":{"key":"user:%d:profile","ttl_s":%d,"hit":true}`,
		`"order":{"id":"0f1e2d3c4b5a6978","items":%d,"total":10.5,"currency":"EUR","address":{"country":"DE","zip":"%d"}},` +
			`"user_id":"u-1"`,
		`"kafka":{"topic":"orders.v2","partition":%d,"offset":%d,"lag":3}`,
		`"user_id":"u-%d","client":{"id":"web","ip":"10.1.%d.7"},"scopes":["read","write","offline"]`,
		`"error":{"type":"NullPointerException","message":"Cannot invoke \"Order.total()\" because \"order\" is ` +
			`null","stack":"java.lang.X\n\tat com.example.A(A.java:%d)\n\tat com.example.B(B.java:%d)"}`,
	}
	var b []byte
	for i := range n {
		event := events[r.IntN(len(events))]
		b = fmt.Appendf(b, `{"ts":"2026-01-05T00:00:%02d.%06dZ","level":"info","logger":"http.server","msg":"request %d `+
			`completed","trace_id":"%016x%016x","span_id":"%016x",`,
			i%60, r.IntN(1e6), i, r.Uint64(), r.Uint64(), r.Uint64())
		b = fmt.Appendf(b, event, r.IntN(100_000), r.IntN(100_000))
		b = fmt.Appendf(b, `,"kubernetes":{"namespace":"shop","pod":"checkout-%08x-ab3cd","container":"checkout",`+
			`"node":"ip-10-0-1-%d.eu-central-1.compute.internal",`+
			`"labels":{"app":"checkout","version":"1.4.%d","team":"ch"}}}`+"\n", r.Uint32(), r.IntN(9), r.IntN(7))
	}
	return pad(b)
}

func pad(b []byte) []byte { return append(b, make([]byte, jsonscan.Padding)...)[:len(b)] }

// feed passes the lines of a body through one runner.
func feed(tb testing.TB, q *Request, body []byte, slow bool) {
	runner, err := NewIdentity(q)
	if err != nil {
		tb.Fatal(err)
	}
	defer runner.Release()
	runner.(*identity).onlySlow = slow
	for from := 0; from < len(body); {
		to := from + bytes.IndexByte(body[from:], '\n')
		if err := runner.ScanLine(body[from:to]); err != nil {
			tb.Fatal(err)
		}
		from = to + 1
	}
	out, err := runner.Finish()
	if err != nil {
		tb.Fatal(err)
	}
	if len(out.Tables) != 1 {
		tb.Fatalf("%d tables", len(out.Tables))
	}
}

// created returns a catalog with the table that the body creates, as later requests find it.
func created(tb testing.TB, body []byte) Catalog {
	runner, err := NewIdentity(request())
	if err != nil {
		tb.Fatal(err)
	}
	defer runner.Release()
	for line := range bytes.Lines(body) {
		if err := runner.ScanLine(line); err != nil {
			tb.Fatal(err)
		}
	}
	out, err := runner.Finish()
	if err != nil {
		tb.Fatal(err)
	}
	table := &schema.Table{ID: 1, Database: "public", Name: "t", Options: map[string]string{}}
	for i, c := range out.Tables[0].Rows.Cols() {
		c := c.Column
		c.ID = uint32(i + 1)
		table.Columns = append(table.Columns, c)
	}
	return tables{"t": table.Index()}
}

func benchmark(b *testing.B, body []byte, rows int, slow bool) {
	q := request()
	q.Catalog = created(b, body)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		feed(b, q, body, slow)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkIdentityNginx(b *testing.B)      { benchmark(b, accessLines(1000), 1000, false) }
func BenchmarkIdentityApp(b *testing.B)        { benchmark(b, appLines(1000), 1000, false) }
func BenchmarkIdentityNginxExact(b *testing.B) { benchmark(b, accessLines(1000), 1000, true) }

func BenchmarkIdentityText(b *testing.B) {
	line := []byte(`10.1.2.3 - - [05/Jan/2026:00:00:00 +0000] "GET /api/v1/users/1 HTTP/1.1" 200 512 "-" "curl/8.1.0"`)
	q := request()
	b.SetBytes(int64(len(line)) * 1000)
	b.ReportAllocs()
	for b.Loop() {
		runner, err := NewIdentity(q)
		if err != nil {
			b.Fatal(err)
		}
		for range 1000 {
			if err := runner.TextRecord(line); err != nil {
				b.Fatal(err)
			}
		}
		runner.Release()
	}
}

// TestAllocations checks that the number of allocations of a request does not grow with its rows.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector, pools drop items at random")
	}
	// AllocsPerRun also changes GOMAXPROCS, and a pool drops all items when the number changes.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, tt := range []struct {
		name string
		body func(int) []byte
		slow bool
	}{{"access", accessLines, false}, {"app", appLines, false}, {"exact", accessLines, true}} {
		small, large := tt.body(200), tt.body(1200)
		q := request()
		q.Catalog = created(t, large)
		// Memory is kept between requests, but columns change places.
		for range 10 {
			feed(t, q, large, tt.slow)
		}
		many := testing.AllocsPerRun(5, func() { feed(t, q, large, tt.slow) })
		few := testing.AllocsPerRun(5, func() { feed(t, q, small, tt.slow) })
		if many-few > 50 {
			t.Errorf("%s: %v allocations for 1200 rows, %v for 200", tt.name, many, few)
		}
	}
}
