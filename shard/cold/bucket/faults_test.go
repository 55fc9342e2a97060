package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket/buckettest"
)

// behindProxy returns a bucket of an S3 server behind a proxy of faults.
func behindProxy(t *testing.T, prefix string) (Bucket, *buckettest.Proxy) {
	t.Helper()
	endpoint, name := buckettest.Serve(t)
	p := buckettest.NewProxy(t, endpoint, nil)
	b, err := Open("s3://"+name+"/"+prefix, Config{S3: S3Config{Endpoint: p.URL, Stall: 5 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	return b, p
}

// TestFaultsAreNoticed injects each fault, and checks the kind of the error that a bucket without a Guard returns.
func TestFaultsAreNoticed(t *testing.T) {
	b, p := behindProxy(t, "p")
	body := bytes.Repeat([]byte("0123456789"), 10_000)
	for key, body := range map[string][]byte{"o": body, "other": bytes.Repeat([]byte("x"), 100_000)} {
		if err := b.Put(wait(t), key, content(body)); err != nil {
			t.Fatal(err)
		}
	}
	part := Part{500, 10_000, crc32.Checksum(body[500:10_500], Castagnoli)}
	get := func() error {
		_, err := b.Range(wait(t), "o", Range{Offset: 0, Length: 20_000, ObjectSize: 100_000, Parts: []Part{part}})
		return err
	}
	n := 0
	put := func() error {
		n++
		return b.Put(wait(t), fmt.Sprint("put", n), content(body))
	}
	for _, tt := range []struct {
		name  string
		fault buckettest.Fault
		do    func() error
		want  Kind
	}{
		{"a flipped bit", buckettest.Flip, func() error {
			_, err := b.Range(wait(t), "o", Range{Offset: 500, Length: 10_000, Parts: []Part{part}})
			return err
		}, Damaged},
		{"a cut answer", buckettest.Cut, get, Unavailable},
		{"a short answer", buckettest.Short, get, Damaged},
		{"a foreign answer", buckettest.Foreign, get, Damaged},
		{"the whole object", buckettest.IgnoreRange, get, Damaged},
		{"throttled", buckettest.SlowDown, get, Throttled},
		{"internal", buckettest.Internal, get, Unavailable},
		{"forbidden", buckettest.Forbid, get, Forbidden},
		{"reset", buckettest.Reset, get, Unavailable},
		{"no answer", buckettest.LostAnswer, get, Unavailable},
		{"put throttled", buckettest.SlowDown, put, Throttled},
		{"put internal", buckettest.Internal, put, Unavailable},
		{"put forbidden", buckettest.Forbid, put, Forbidden},
		{"put reset", buckettest.Reset, put, Unavailable},
		{"put without answer", buckettest.LostAnswer, put, Unavailable},
	} {
		p.SetPlan(buckettest.Always(tt.fault)) // the client itself repeats a request if an old connection breaks
		before := p.Counts().Faults[tt.fault]
		wantKind(t, tt.name, tt.do(), tt.want)
		if p.Counts().Faults[tt.fault] == before {
			t.Errorf("%s: the fault was not injected", tt.name)
		}
	}
	p.SetPlan(nil)
	if _, err := b.Head(wait(t), fmt.Sprint("put", n)); err != nil {
		t.Errorf("the object whose answer was lost: %v", err)
	}
	p.SetPlan(buckettest.Always(buckettest.LagList))
	if got := list(t, b, ""); strings.Contains(got, "put5") {
		t.Errorf("a lagging list: %s", got)
	}
	p.SetPlan(nil)
	if got := list(t, b, ""); !strings.Contains(got, "put5") {
		t.Errorf("a list: %s", got)
	}
}

// TestGuardUnderFaults stores, reads and removes objects while a third of all requests fails, and compares everything.
func TestGuardUnderFaults(t *testing.T) {
	raw, p := behindProxy(t, "faults")
	if err := TryChecksums(wait(t), raw); err != nil {
		t.Fatal(err)
	}
	all := []buckettest.Fault{
		buckettest.Delay, buckettest.SlowDown, buckettest.Internal, buckettest.Reset, buckettest.LostAnswer,
		buckettest.Cut, buckettest.Short, buckettest.Flip, buckettest.Foreign, buckettest.IgnoreRange,
		buckettest.Unchecked,
	}
	for seed := range uint64(4) {
		p.SetPlan(buckettest.Random(seed, 0.33, all...))
		p.SetDelay(time.Millisecond)
		g := NewGuard(raw, GuardConfig{
			Read:  Policy{Tries: 30, Pause: time.Millisecond, MaxPause: 10 * time.Millisecond},
			Write: Policy{Tries: Forever, Pause: time.Millisecond, MaxPause: 10 * time.Millisecond}, NoCircuit: true,
		})
		random := rand.New(rand.NewPCG(seed, 1))
		for i := range 12 {
			key := fmt.Sprintf("%d/%d", seed, i)
			body := make([]byte, 1+random.IntN(200_000))
			for k := range body {
				body[k] = byte(random.Uint32())
			}
			if err := g.Put(wait(t), key, content(body)); err != nil {
				t.Fatalf("seed %d: put %s: %v", seed, key, err)
			}
			readAll(t, g, key, body)
			if i%3 == 0 {
				if err := g.Delete(wait(t), key); err != nil {
					t.Errorf("delete %s: %v", key, err)
				}
			}
		}
		p.SetPlan(nil)
		want := 8
		if got := len(strings.Fields(list(t, raw, fmt.Sprint(seed, "/")))); got != want {
			t.Errorf("seed %d: %d objects are left, want %d", seed, got, want)
		}
	}
	counts := p.Counts()
	t.Log(counts)
	for _, f := range all {
		if counts.Faults[f] == 0 {
			t.Errorf("the fault %v was never injected", f)
		}
	}
}

// readAll reads an object by ranges until all bytes were right. Three damaged answers in a row are an error, which is
// right, but no wrong byte is ever returned.
func readAll(t *testing.T, g *Guard, key string, body []byte) {
	t.Helper()
	size := int64(len(body))
	for at := int64(0); at < size; {
		n := min(70_000, size-at)
		got, err := g.Range(wait(t), key, Range{
			Offset: at, Length: n, ObjectSize: size, Parts: []Part{{at, n, crc32.Checksum(body[at:at+n], Castagnoli)}},
		})
		if is(err, Damaged) {
			continue
		}
		if err != nil || !bytes.Equal(got, body[at:at+n]) {
			t.Fatalf("read %s from %d: %d bytes, %v", key, at, len(got), err)
		}
		at += n
	}
}

// TestUncheckedPuts changes what is stored behind the back of a service that does not know checksums.
func TestUncheckedPuts(t *testing.T) {
	b, p := behindProxy(t, "unchecked")
	g := NewGuard(b, fast)
	p.SetPlan(buckettest.Always(buckettest.Unchecked))
	wrong := content([]byte("hello"))
	wrong.CRC++
	wantKind(t, "a wrong checksum that the service ignores", g.Put(wait(t), "o", wrong), Damaged)
	if err := g.Put(wait(t), "p", content([]byte("hello"))); err != nil {
		t.Errorf("a right checksum that the service ignores: %v", err)
	}
	if p.Counts().Requests["GET"] == 0 {
		t.Error("the object was not read back")
	}
	// The first answer is lost, and another program has used the key: the object is not ours.
	p.SetPlan(buckettest.First(1, buckettest.LostAnswer))
	stolen := &stealing{Bucket: b}
	err := NewGuard(stolen, fast).Put(wait(t), "q", content([]byte("ours!")))
	wantKind(t, "a stolen key", err, Damaged)
	if got, err := read(t, b, "q", 0); err != nil || string(got) != "theirs" {
		t.Errorf("the stolen key has %q, %v", got, err)
	}
}

// TestParrot stores objects in a service that stores and returns any checksum that it is sent. Its checksums are not
// used, because the probe has found that.
func TestParrot(t *testing.T) {
	b, p := behindProxy(t, "parrot")
	g := NewGuard(b, fast)
	p.SetPlan(buckettest.Always(buckettest.Parrot))
	if got := failedSteps(t, b); got != "refuse an object with a wrong checksum (minor)" {
		t.Errorf("the probe failed at: %s", got)
	}
	wrong := content([]byte("hello"))
	wrong.CRC++
	wantKind(t, "a wrong checksum that the service repeats", g.Put(wait(t), "o", wrong), Damaged)
	if err := g.Put(wait(t), "p", content([]byte("hello"))); err != nil {
		t.Errorf("a right checksum: %v", err)
	}
	if info, err := g.Head(wait(t), "p"); err != nil || info.Checked {
		t.Errorf("head: %+v, %v; want no checksum", info, err)
	}
	if err := TryChecksums(wait(t), b); err == nil {
		t.Error("the service compares checksums, as it seems")
	}
	p.SetPlan(nil)
	if got := list(t, b, "probe/"); got != "" {
		t.Errorf("left: %s", got)
	}
	if err := TryChecksums(wait(t), b); err != nil {
		t.Errorf("a good service: %v", err)
	}
	if info, err := g.Head(wait(t), "p"); err != nil || info.Checked {
		t.Errorf("head: %+v, %v; want no checksum, because none was stored", info, err)
	}
	if err := g.Put(wait(t), "q", content([]byte("hello"))); err != nil {
		t.Error(err)
	}
	if info, err := g.Head(wait(t), "q"); err != nil || !info.Checked {
		t.Errorf("head: %+v, %v; want a checksum", info, err)
	}
}

// failedSteps returns the names of the steps of a probe that failed.
func failedSteps(t *testing.T, b Bucket) string {
	t.Helper()
	var failed []string
	for _, s := range Probe(wait(t), b) {
		switch {
		case s.Err != nil && s.Minor:
			failed = append(failed, s.Name+" (minor)")
		case s.Err != nil:
			failed = append(failed, s.Name)
		}
	}
	return strings.Join(failed, ", ")
}

// stealing is a bucket in which another program uses each key first, and the answer is lost.
type stealing struct{ Bucket }

func (s *stealing) Put(ctx context.Context, key string, c Content) error {
	if err := s.Bucket.Put(ctx, key, content([]byte("theirs"))); !errors.Is(err, ErrExists) {
		return &Error{Kind: Unavailable, Op: "write", At: key, Err: errors.New("the answer was lost")}
	}
	return s.Bucket.Put(ctx, key, c)
}

// TestProbe checks what a probe says of services that lack something.
func TestProbe(t *testing.T) {
	b, p := behindProxy(t, "probe")
	for name, tt := range map[string]struct {
		plan   buckettest.Plan
		failed string
	}{
		"a good service": {nil, ""},
		"no conditions":  {buckettest.Always(buckettest.Unconditional), "keep it when its key is used again"},
		"no checksums": {
			buckettest.Always(buckettest.Unchecked), "refuse an object with a wrong checksum (minor)",
		},
		"no ranges": {
			buckettest.Always(buckettest.IgnoreRange), "read 3 bytes of it, keep it when its key is used again",
		},
		"delayed lists":              {buckettest.Always(buckettest.LagList), "list it (minor)"},
		"no permission for anything": {buckettest.Always(buckettest.Forbid), "store an object"},
	} {
		t.Run(name, func(t *testing.T) {
			p.SetPlan(tt.plan)
			if got := failedSteps(t, b); got != tt.failed {
				t.Errorf("failed: %s; want %s", got, tt.failed)
			}
			p.SetPlan(nil)
			if got := list(t, b, ""); got != "" {
				t.Errorf("the probe left %s", got)
			}
		})
	}
	for _, s := range Probe(wait(t), NewDir(t.TempDir())) {
		if s.Err != nil {
			t.Errorf("a directory: %s: %v", s.Name, s.Err)
		}
	}
}

// TestReadStall reads of a service that does not answer: a read gives up before a write would.
func TestReadStall(t *testing.T) {
	end := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(end) })
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	cfg := S3Config{Endpoint: s.URL, Stall: time.Hour, ReadStall: 50 * time.Millisecond}
	b, err := Open("s3://bucket/p", Config{S3: cfg})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Range(wait(t), "o", Range{Length: 1})
	wantKind(t, "a range", err, Unavailable)
	_, err = b.Head(wait(t), "o")
	wantKind(t, "a description", err, Unavailable)
}
