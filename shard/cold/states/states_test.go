package states

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
)

var testHeader = Header{
	Cluster: "c1", Shard: 7, Incarnation: 2, Index: 1234, Term: 5,
	Written: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC),
}

func testState(t testing.TB) []byte {
	t.Helper()
	b, err := Encode(&testHeader, bytes.Repeat([]byte("state "), 100))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFrame reads what was written, and notices every changed, missing and additional byte.
func TestFrame(t *testing.T) {
	t.Parallel()
	b := testState(t)
	want := testHeader
	want.Bytes = 600
	h, body, err := Decode("file", b)
	if err != nil || !reflect.DeepEqual(h, want) || len(body) != 600 || string(body[:6]) != "state " {
		t.Fatalf("%+v, %d bytes, %v", h, len(body), err)
	}
	for i := range b {
		for _, bit := range []byte{1, 0x80} {
			c := bytes.Clone(b)
			c[i] ^= bit
			if _, _, err := Decode("file", c); err == nil {
				t.Fatalf("byte %d was changed, and this was not noticed", i)
			}
		}
		if _, _, err := Decode("file", b[:i]); err == nil {
			t.Fatalf("only %d bytes are there, and this was not noticed", i)
		}
	}
	if _, _, err := Decode("file", append(bytes.Clone(b), 0)); err == nil {
		t.Error("a byte too many was not noticed")
	}
	newer := bytes.Clone(b)
	newer[4] = 9
	if _, _, err := Decode("file", newer); err == nil || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("a newer version: %v", err)
	}
}

// FuzzDecode checks that no file makes Decode fail otherwise than by an error, or use more memory than it says.
func FuzzDecode(f *testing.F) {
	f.Add(testState(f))
	f.Add([]byte("CWRS"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, body, err := Decode("file", b)
		if err == nil && h.Bytes != int64(len(body)) {
			t.Errorf("the header says %d bytes, there are %d", h.Bytes, len(body))
		}
	})
}

// TestNewest orders states by incarnation, term and index, and finds those of each group.
func TestNewest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := Place{Bucket: bucket.NewDir(t.TempDir()), Cluster: "c1"}
	for _, h := range []Header{
		{Shard: 7, Incarnation: 1, Term: 9, Index: 900},
		{Shard: 7, Incarnation: 2, Term: 3, Index: 20},
		{Shard: 7, Incarnation: 2, Term: 4, Index: 10}, // recovered from a copy with fewer entries
		{Shard: 7, Incarnation: 2, Term: 3, Index: 30},
		{Shard: 77, Incarnation: 1, Term: 1, Index: 1},
		{Term: 2, Index: 5},
	} {
		if err := p.Put(ctx, h, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"c1/state/shard/7/1-2-3.state", "c1/state/alive.json", "c1/state/shard/x/1-2-3-0.state"} {
		if err := p.Bucket.Put(ctx, key, content([]byte("x"))); err != nil {
			t.Fatal(err)
		}
	}
	groups, err := p.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, s := range groups[7] {
		got += fmt.Sprintf("%d-%d-%d ", s.Incarnation, s.Term, s.Index)
	}
	if got != "2-4-10 2-3-30 2-3-20 1-9-900 " || len(groups) != 3 || len(groups[0]) != 1 || len(groups[77]) != 1 {
		t.Errorf("shard 7 has %s, all: %v", got, groups)
	}
	h, body, err := p.Read(ctx, &groups[7][0])
	if err != nil || h.Index != 10 || string(body) != "x" {
		t.Errorf("%+v %q %v", h, body, err)
	}
	moved := groups[7][0]
	moved.Key = groups[7][1].Key
	if _, _, err := p.Read(ctx, &moved); err == nil || !strings.Contains(err.Error(), "another one than its key says") {
		t.Errorf("a state under the key of another one: %v", err)
	}
}

// TestPrune deletes states that are older than a day than the newest one, except the two newest, and nothing else.
func TestPrune(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	p := Place{Bucket: bucket.NewDir(dir), Cluster: "c1"}
	put := func(index uint64, age time.Duration) {
		t.Helper()
		if err := p.Put(ctx, Header{Shard: 7, Incarnation: 1, Term: 1, Index: index}, []byte("x")); err != nil {
			t.Fatal(err)
		}
		groups, err := p.List(ctx)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(groups[7][0].Key)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	other := Header{Shard: 8, Incarnation: 1, Term: 1, Index: 1}
	if err := p.Put(ctx, other, []byte("x")); err != nil {
		t.Fatal(err)
	}
	for i, hours := range []time.Duration{90, 80, 70, 60, 10, 0} {
		put(uint64(i+1), hours*time.Hour)
	}
	groups, err := p.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, s := range groups[7] {
		got += fmt.Sprint(s.Index, " ")
	}
	if got != "6 5 " || len(groups[8]) != 1 {
		t.Errorf("there are %s, all: %v", got, groups)
	}
}

// TestPruneMany keeps one of the states of ten minutes, and the two newest.
func TestPruneMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := Place{Bucket: w, Cluster: "c1"}
	for i := range uint64(30) { // each two minutes
		w.now += 2 * time.Minute
		if err := p.Put(t.Context(), Header{Index: i + 1, Term: 1}, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	groups, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(groups[0]); n < 7 || n > 9 || groups[0][0].Index != 30 || groups[0][1].Index != 29 {
		t.Errorf("%d states of an hour: %v", n, groups[0])
	}
}

// TestOwner lets one of two clusters become the owner of the objects, and stops the former owner.
func TestOwner(t *testing.T) {
	t.Parallel()
	ctx, now := context.Background(), time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	p := Place{Bucket: bucket.NewDir(t.TempDir()), Cluster: "c1"}
	if err := p.CheckOwner(ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.TakeOver(ctx, "c2", nil, now); err != nil {
		t.Fatal(err)
	}
	if err := p.TakeOver(ctx, "c3", nil, now); !errors.Is(err, bucket.ErrExists) {
		t.Errorf("a second one at the same time: %v", err)
	}
	o, err := p.Owner(ctx)
	if err != nil || o.Cluster != "c2" {
		t.Fatalf("%+v %v", o, err)
	}
	err = p.Put(ctx, testHeader, []byte("x"))
	if lost := (*ErrNotOwner)(nil); !errors.As(err, &lost) || !strings.Contains(err.Error(), "cluster c2 was made from") {
		t.Errorf("the former owner stores a state: %v", err)
	}
	if err := p.TakeOver(ctx, "c3", o, now); err != nil {
		t.Fatal(err)
	}
	if o, err := p.Owner(ctx); err != nil || o.Cluster != "c3" || o.Epoch != 2 {
		t.Errorf("%+v %v", o, err)
	}
}

// TestAlive says until when a cluster counts as running.
func TestAlive(t *testing.T) {
	t.Parallel()
	ctx, now := context.Background(), time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	p := Place{Bucket: bucket.NewDir(t.TempDir()), Cluster: "c1"}
	if a, err := p.Alive(ctx); err != nil || !a.Written.IsZero() {
		t.Errorf("%+v %v", a, err)
	}
	for i := range 2 {
		if err := p.SetAlive(ctx, Alive{Written: now.Add(time.Duration(i) * time.Hour), Every: 600}); err != nil {
			t.Fatal(err)
		}
	}
	a, err := p.Alive(ctx)
	if until := a.Until(); err != nil || !until.Equal(now.Add(81*time.Minute)) {
		t.Errorf("%+v until %s: %v", a, until, err)
	}
}

// TestSeal opens what was sealed with one of the keys, under the same name, and nothing that was changed.
func TestSeal(t *testing.T) {
	t.Parallel()
	key, other := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	text := []byte("the users")
	sealed, err := Seal(key, "c1/5", text)
	if err != nil || bytes.Contains(sealed, text) {
		t.Fatalf("%x %v", sealed, err)
	}
	if again, err := Seal(key, "c1/5", text); err != nil || bytes.Equal(again, sealed) {
		t.Errorf("the same text twice is %x: %v", again, err)
	}
	if got, err := Unseal([][]byte{other, key}, "c1/5", sealed); err != nil || !bytes.Equal(got, text) {
		t.Errorf("%q %v", got, err)
	}
	for i := range sealed {
		c := bytes.Clone(sealed)
		c[i] ^= 1
		if _, err := Unseal([][]byte{key}, "c1/5", c); err == nil {
			t.Fatalf("byte %d was changed, and this was not noticed", i)
		}
	}
	for _, c := range []struct {
		keys [][]byte
		name string
		b    []byte
	}{
		{[][]byte{other}, "c1/5", sealed},
		{[][]byte{key}, "c1/6", sealed},
		{nil, "c1/5", sealed},
		{[][]byte{key}, "c1/5", nil},
	} {
		if _, err := Unseal(c.keys, c.name, c.b); !errors.Is(err, errSealed) {
			t.Errorf("%d keys, %s: %v", len(c.keys), c.name, err)
		}
	}
}

// TestMetadata decodes both parts of a state of the metadata, and refuses what was cut off.
func TestMetadata(t *testing.T) {
	t.Parallel()
	want := Metadata{Plain: []byte("plain"), Access: []byte("sealed")}
	b := want.Encode()
	if got, err := DecodeMetadata(b); err != nil || string(got.Plain) != "plain" || string(got.Access) != "sealed" {
		t.Errorf("%q %v", got, err)
	}
	for i := range b {
		if _, err := DecodeMetadata(b[:i]); err == nil {
			t.Errorf("%d bytes are enough", i)
		}
	}
	if _, err := DecodeMetadata(append(b, 1)); err == nil {
		t.Error("a byte too many was not noticed")
	}
}
