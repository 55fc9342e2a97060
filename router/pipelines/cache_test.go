package pipelines

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// fakeMeta has texts by name and version.
type fakeMeta struct {
	mu    sync.Mutex
	texts map[key]string
	reads atomic.Int64
	hold  chan struct{} // reads wait for it, unless it is nil
	began chan struct{} // receives a value when a read begins to wait
	fail  error
}

func (m *fakeMeta) put(name string, version int64, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts[key{name, version}] = text
}

func (m *fakeMeta) remove(name string, version int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.texts, key{name, version})
}

func (m *fakeMeta) Pipeline(name string) (*metapb.PipelineVersion, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	newest := int64(0)
	for k := range m.texts {
		if k.name == name {
			newest = max(newest, k.version)
		}
	}
	return &metapb.PipelineVersion{Name: name, Version: newest}, newest != 0
}

func (m *fakeMeta) PipelineVersion(name string, version int64) (*metapb.PipelineVersion, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.texts[key{name, version}]
	return &metapb.PipelineVersion{Name: name, Version: version}, ok
}

func (m *fakeMeta) PipelineText(_ context.Context, name string, version int64) ([]byte, error) {
	m.reads.Add(1)
	if m.hold != nil {
		m.began <- struct{}{}
		<-m.hold
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return nil, m.fail
	}
	text, ok := m.texts[key{name, version}]
	if !ok {
		return nil, errs.New(errs.InvalidArguments, "deleted")
	}
	return []byte(text), nil
}

// newCache returns a cache whose compiler converts a text to upper case. The text "bad" does not compile.
func newCache(t *testing.T, change ...func(*Config[string])) (*Cache[string], *fakeMeta) {
	t.Helper()
	m := &fakeMeta{texts: map[key]string{}}
	cfg := Config[string]{
		Meta: m, Registerer: prometheus.NewRegistry(),
		Compile: func(source []byte) (string, error) {
			if string(source) == "bad" {
				return "", errors.New("no")
			}
			return strings.ToUpper(string(source)), nil
		},
		Size: func(_ string, source []byte) int64 { return int64(len(source)) },
	}
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, m
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func latestOf(t *testing.T, c *Cache[string], name string) string {
	t.Helper()
	p, version, err := c.Latest(within(t), name)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(p, version)
}

func TestLatestMoves(t *testing.T) {
	c, m := newCache(t)
	for i, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "Pipeline not found, name: p, version: latest"},
		{func() { m.put("p", 1, "one") }, "ONE1"},
		{func() { m.put("p", 2, "two") }, "TWO2"},
		{func() { m.put("q", 9, "other") }, "TWO2"},
		{func() { m.remove("p", 2) }, "ONE1"},
		{func() { m.remove("p", 1) }, "Pipeline not found, name: p, version: latest"},
	} {
		step.do()
		if got := latestOf(t, c, "p"); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}

func TestVersions(t *testing.T) {
	c, m := newCache(t)
	at := time.Date(2024, 7, 4, 8, 31, 0, 987136000, time.UTC).UnixNano()
	m.put("p", at, "one")
	for range 3 {
		if p, err := c.Version(within(t), "p", at); p != "ONE" || err != nil {
			t.Errorf("%q, %v", p, err)
		}
	}
	if n := m.reads.Load(); n != 1 {
		t.Errorf("read %d times", n)
	}
	_, err := c.Version(within(t), "p", at+1)
	if want := "Pipeline not found, name: p, version: 2024-07-04 08:31:00.987136001"; err == nil || err.Error() != want ||
		errs.CodeOf(err) != errs.InvalidArguments {
		t.Errorf("%v, want %s", err, want)
	}
	// The cache does not return a version that was compiled but is deleted.
	m.remove("p", at)
	if p, err := c.Version(within(t), "p", at); err == nil {
		t.Errorf("a deleted version: %q", p)
	}
}

// If a version is deleted while it is read, it is not found, and the version before it is the newest.
func TestDeletedMeanwhile(t *testing.T) {
	for _, latest := range []bool{true, false} {
		c, m := newCache(t)
		m.put("p", 1, "one")
		m.put("p", 2, "two")
		m.hold, m.began = make(chan struct{}), make(chan struct{}, 2)
		got := make(chan string, 1)
		go func() {
			if latest {
				got <- latestOf(t, c, "p")
				return
			}
			_, err := c.Version(within(t), "p", 2)
			got <- fmt.Sprint(err)
		}()
		<-m.began
		m.remove("p", 2)
		close(m.hold)
		want := "ONE1"
		if !latest {
			want = "Pipeline not found, name: p, version: 1970-01-01 00:00:00.000000002"
		}
		if text := <-got; text != want {
			t.Errorf("latest %v: %s, want %s", latest, text, want)
		}
	}
}

func TestOneCompilationForAll(t *testing.T) {
	var compiled atomic.Int64
	c, m := newCache(t, func(cfg *Config[string]) {
		inner := cfg.Compile
		cfg.Compile = func(source []byte) (string, error) { compiled.Add(1); return inner(source) }
	})
	m.put("p", 1, "one")
	m.hold, m.began = make(chan struct{}), make(chan struct{}, 1)
	// The first request is cancelled; the others get the result of its load.
	gone, cancel := context.WithCancel(context.Background())
	first := make(chan error, 1)
	go func() { _, err := c.Version(gone, "p", 1); first <- err }()
	<-m.began
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if p, err := c.Version(within(t), "p", 1); p != "ONE" || err != nil {
				t.Errorf("%q, %v", p, err)
			}
		})
	}
	close(m.hold)
	wg.Wait()
	if m.reads.Load() != 1 || compiled.Load() != 1 {
		t.Errorf("read %d times, compiled %d times", m.reads.Load(), compiled.Load())
	}
}

func TestRoom(t *testing.T) {
	c, m := newCache(t, func(cfg *Config[string]) { cfg.MaxBytes = 10 })
	for i, text := range []string{"aaaa", "bbbb", "cccc"} {
		m.put("p", int64(i+1), text)
	}
	get := func(version int64) {
		t.Helper()
		if _, err := c.Version(within(t), "p", version); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct{ version, reads int64 }{{1, 1}, {2, 2}, {1, 2}, {3, 3}, {1, 3}, {2, 4}, {1, 4}, {3, 5}} {
		get(step.version)
		if n := m.reads.Load(); n != step.reads {
			t.Errorf("version %d: %d reads, want %d", step.version, n, step.reads)
		}
	}
	m.put("p", 4, strings.Repeat("x", 100)) // larger than the limit, so it is the only entry
	get(4)
	get(4)
	if n, bytes := c.held(); n != 1 || bytes != 100 {
		t.Errorf("%d pipelines, %d bytes", n, bytes)
	}
}

func TestFailures(t *testing.T) {
	c, m := newCache(t)
	m.put("p", 1, "bad")
	for range 2 {
		_, err := c.Version(within(t), "p", 1)
		if err == nil || !strings.HasSuffix(err.Error(), "does not compile with this version of the program: no") {
			t.Error(err)
		}
	}
	if n := m.reads.Load(); n != 1 {
		t.Errorf("a text that does not compile was read %d times", n)
	}
	m.put("p", 2, "good")
	m.fail = errs.New(errs.ShardNotReady, "away")
	if _, _, err := c.Latest(within(t), "p"); errs.CodeOf(err) != errs.ShardNotReady {
		t.Errorf("while the group is down: %v", err)
	}
	m.fail = nil
	if got := latestOf(t, c, "p"); got != "GOOD2" {
		t.Errorf("after it came back: %s", got)
	}
	c.Add("p", 3, "ADDED", nil)
	m.put("p", 3, "added")
	before := m.reads.Load()
	if got := latestOf(t, c, "p"); got != "ADDED3" || m.reads.Load() != before {
		t.Errorf("what was added is not used: %s", got)
	}
}

func TestVersionText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"2024-07-04 08:31:00.987136", "2024-07-04 08:31:00.987136"},
		{"2024-07-04T08:31:00.987136Z", "2024-07-04 08:31:00.987136"},
		{"2024-07-04t08:31:00.987136z", "2024-07-04 08:31:00.987136"},
		{"2024-07-04 08:31:00", "2024-07-04 08:31:00"},
		{"2024-07-04T08:31:00.5", "2024-07-04 08:31:00.500"},
		{"2024-07-04T08:31:00.1234567", "2024-07-04 08:31:00.123456700"},
		{"2024-07-04T08:31:00.123456789", "2024-07-04 08:31:00.123456789"},
		{"2024-07-04 10:31:00+02:00", "2024-07-04 08:31:00"},
		{"2024-07-04T10:31:00.25 02:00", "2024-07-04 08:31:00.250"},
		{"2024-07-04T06:31:00-02:00", "2024-07-04 08:31:00"},
		{" 2024-07-04 08:31:00 ", "2024-07-04 08:31:00"},
		{"1970-01-01 00:00:00", "1970-01-01 00:00:00"},
		{"latest", ""},
		{"", ""},
		{"2024-07-04", ""},
		{"2024-13-04 08:31:00", ""},
		{"1720081860", ""},
		{"0001-01-01 00:00:00", ""},
		{"9999-01-01 00:00:00", ""},
		{"2024-07-04 08:31:00,5", ""},
	} {
		at, err := ParseVersion(tt.in)
		switch {
		case tt.want == "" && (err == nil || err.Error() != "Invalid pipeline version format: "+tt.in):
			t.Errorf("%q: %d, %v", tt.in, at, err)
		case tt.want != "" && (err != nil || FormatVersion(at) != tt.want):
			t.Errorf("%q: %s, %v, want %s", tt.in, FormatVersion(at), err, tt.want)
		}
	}
}

func BenchmarkLatest(b *testing.B) {
	m := &fakeMeta{texts: map[key]string{{"p", 1}: "one"}}
	c, err := New(Config[string]{Meta: m, Compile: func(source []byte) (string, error) { return string(source), nil }})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, _, err := c.Latest(context.Background(), "p"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func FuzzParseVersion(f *testing.F) {
	f.Add("2024-07-04 08:31:00.987136")
	f.Add("2024-07-04T10:31:00.25 02:00")
	f.Fuzz(func(t *testing.T, text string) {
		at, err := ParseVersion(text)
		if err != nil {
			return
		}
		if again, err := ParseVersion(FormatVersion(at)); err != nil || again != at {
			t.Errorf("%q is %d, its text %q is %d, %v", text, at, FormatVersion(at), again, err)
		}
	})
}
