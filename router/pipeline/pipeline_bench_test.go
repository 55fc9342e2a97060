package pipeline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"cordwood/proto/schema"
)

// combinedLines returns n web access lines in the combined format.
func combinedLines(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var b []byte
	for i := range n {
		b = fmt.Appendf(b, `%d.%d.%d.%d - - [05/Jan/2026:00:%02d:%02d +0000] "%s /api/v1/%s/%d HTTP/1.1" %s %d "%s" `+
			`"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%d.0.4321.%d `+
			`Safari/537.36"`+"\n",
			1+r.IntN(222), r.IntN(256), r.IntN(256), r.IntN(256), i/60%60, i%60, pick("GET", "GET", "GET", "POST"),
			pick("users", "orders", "products", "sessions"), r.IntN(200_000), pick("200", "200", "201", "404"), r.IntN(20_000),
			pick("-", "https://www.example.com/search"), 90+r.IntN(50), r.IntN(200))
	}
	return pad(b)
}

// benchPipeline compiles a pipeline from testdata.
func benchPipeline(tb testing.TB, name string) *Pipeline {
	tb.Helper()
	src, err := os.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		tb.Fatal(err)
	}
	p, err := Compile(src, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// feedPipeline passes the lines of a body through a pipeline and returns the output, which is valid until release
// is called.
func feedPipeline(tb testing.TB, p *Pipeline, q *Request, body []byte, text bool) (out *Output, release func()) {
	runner, err := NewRunner(p, q, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for from := 0; from < len(body); {
		to := from + bytes.IndexByte(body[from:], '\n')
		if text {
			err = runner.TextRecord(body[from:to])
		} else {
			err = runner.ScanLine(body[from:to])
		}
		if err != nil {
			tb.Fatal(err)
		}
		from = to + 1
	}
	if out, err = runner.Finish(); err != nil {
		tb.Fatal(err)
	}
	return out, runner.Release
}

// afterFirst adds the table that the body creates, as later requests find it.
func afterFirst(tb testing.TB, p *Pipeline, body []byte, text bool) *Request {
	q := request()
	out, release := feedPipeline(tb, p, q, body, text)
	defer release()
	table := &schema.Table{ID: 1, Database: "public", Name: "t", Options: map[string]string{}}
	for i, c := range out.Tables[0].Rows.Cols() {
		c := c.Column
		c.ID = uint32(i + 1)
		table.Columns = append(table.Columns, c)
	}
	q.Catalog = tables{"t": table.Index()}
	return q
}

func benchmarkPipeline(b *testing.B, name string, body []byte, text bool) {
	p := benchPipeline(b, name)
	const rows = 1000
	q := afterFirst(b, p, body, text)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	start := cpuSeconds(b)
	for b.Loop() {
		_, release := feedPipeline(b, p, q, body, text)
		release()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	b.ReportMetric(rows*float64(b.N)/(cpuSeconds(b)-start), "rows/cpu-s")
}

// cpuSeconds returns the processor time of this process, including its garbage collector. Other load on the
// machine does not affect it.
func cpuSeconds(tb testing.TB) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func BenchmarkPipelineNginx12(b *testing.B) {
	benchmarkPipeline(b, "nginx12", accessLines(1000), false)
}

func BenchmarkPipelineAccessDissect(b *testing.B) {
	benchmarkPipeline(b, "access_dissect", combinedLines(1000), true)
}

func BenchmarkPipelineAccessRegex(b *testing.B) {
	benchmarkPipeline(b, "access_regex", combinedLines(1000), true)
}

// BenchmarkRecordNginx12 runs the program of nginx12 on records that it owns, without storing them.
func BenchmarkRecordNginx12(b *testing.B) {
	body := accessLines(1000)
	made, err := NewRunner(benchPipeline(b, "nginx12"), request(), nil)
	if err != nil {
		b.Fatal(err)
	}
	r := made.(*runner)
	read := func(apply bool) (seconds float64) {
		start := cpuSeconds(b)
		r.json.begin(body)
		for pos := 0; pos < len(body); {
			v, next, err := r.json.object(pos, nil)
			if err != nil {
				b.Fatal(err)
			}
			pos = next + 1
			if apply {
				r.rec.Value = v
				if err := r.admitWork(500); err != nil {
					b.Fatal(err)
				}
				if err := r.p.processors[0].Apply(r.rec); err != nil {
					b.Fatal(err)
				}
			}
		}
		return cpuSeconds(b) - start
	}
	alone, all := 0.0, 0.0
	for b.Loop() {
		alone += read(false)
		all += read(true)
	}
	b.ReportMetric(1000*float64(b.N)/(all-alone), "events/cpu-s")
}

// BenchmarkReader reads records without processing them.
func BenchmarkReader(b *testing.B) {
	body := accessLines(1000)
	first, err := NewRunner(nil, request(), nil)
	if err != nil {
		b.Fatal(err)
	}
	r := first.(*runner)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r.json.begin(body)
		for pos := 0; pos < len(body); {
			_, next, err := r.json.object(pos, nil)
			if err != nil {
				b.Fatal(err)
			}
			pos = next + 1
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/row")
}

// TestPipelineAllocations checks that a row needs no allocations except for the results of processors.
func TestPipelineAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector, pools drop items at random")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, tt := range []struct {
		name string
		rows func(int) []byte
		text bool
	}{{"access_dissect", combinedLines, true}, {"objects", accessLines, false}} {
		p := benchPipeline(t, tt.name)
		small, large := tt.rows(200), tt.rows(1200)
		q := afterFirst(t, p, large, tt.text)
		measure := func(body []byte) float64 {
			return testing.AllocsPerRun(5, func() {
				_, release := feedPipeline(t, p, q, body, tt.text)
				release()
			})
		}
		for range 10 {
			measure(large)
		}
		if many, few := measure(large), measure(small); many-few > 50 {
			t.Errorf("%s: %v allocations for 1200 rows, %v for 200", tt.name, many, few)
		}
	}
}
