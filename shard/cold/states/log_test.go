package states

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
)

func testEntries(first uint64, n int, term uint64) (entries []LogEntry) {
	for i := range uint64(n) {
		e := LogEntry{Index: first + i, Term: term}
		if (first+i)%3 > 0 {
			e.Command, e.Data = true, fmt.Appendf(nil, "entry %d of term %d", first+i, term)
		}
		entries = append(entries, e)
	}
	return entries
}

func sameEntries(a, b []LogEntry) bool {
	return slices.EqualFunc(a, b, func(x, y LogEntry) bool {
		return x.Index == y.Index && x.Term == y.Term && x.Command == y.Command && bytes.Equal(x.Data, y.Data)
	})
}

// TestPieceFrame reads what was written, and notices every changed, missing and additional byte.
func TestPieceFrame(t *testing.T) {
	t.Parallel()
	want := testEntries(10, 7, 3)
	b, err := EncodeLog(&LogHeader{Cluster: "c1", Shard: 7, Incarnation: 2, Before: 2, Written: testHeader.Written}, want)
	if err != nil {
		t.Fatal(err)
	}
	h, entries, err := DecodeLog("file", b)
	got := slices.Collect(entries.All())
	if err != nil || h.First != 10 || h.Last != 16 || h.Term != 3 || h.Before != 2 || !sameEntries(got, want) {
		t.Fatalf("%+v %v %v", h, got, err)
	}
	for i := range b {
		c := bytes.Clone(b)
		c[i] ^= 0x40
		if _, _, err := DecodeLog("file", c); err == nil {
			t.Fatalf("byte %d was changed, and this was not noticed", i)
		}
		if _, _, err := DecodeLog("file", b[:i]); err == nil {
			t.Fatalf("only %d bytes are there, and this was not noticed", i)
		}
	}
	if _, _, err := DecodeLog("file", append(bytes.Clone(b), 0)); err == nil {
		t.Error("a byte too many was not noticed")
	}
	if _, _, err := Decode("file", b); err == nil {
		t.Error("a piece of a log counts as a state")
	}
	if _, _, err := DecodeLog("file", testState(t)); err == nil {
		t.Error("a state counts as a piece of a log")
	}
	var text bytes.Buffer
	if err := Inspect(&text, b); err != nil || !strings.Contains(text.String(), "entries 10 to 16 of term 3") {
		t.Errorf("%s %v", text.String(), err)
	}
	for _, entries := range [][]LogEntry{
		append(testEntries(1, 2, 1), testEntries(4, 1, 1)...), append(testEntries(1, 2, 1), testEntries(3, 1, 2)...),
	} {
		if _, err := EncodeLog(&LogHeader{}, entries); err == nil {
			t.Errorf("a piece of %v", entries)
		}
	}
}

// FuzzDecodeLog checks that no file makes DecodeLog fail otherwise than by an error.
func FuzzDecodeLog(f *testing.F) {
	b, err := EncodeLog(&LogHeader{Cluster: "c1", Shard: 7}, testEntries(10, 7, 3))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, entries, err := DecodeLog("file", b); err == nil {
			next := h.First
			for e := range entries.All() {
				if e.Index != next {
					t.Fatalf("entry %d in place of %d of %+v", e.Index, next, h)
				}
				next++
			}
			if next != h.Last+1 {
				t.Errorf("%d entries of %+v", next-h.First, h)
			}
		}
	})
}

// TestPieceOfSmallEntries reads a piece with an entry in each byte, as somebody may forge it: they take no memory of
// their own.
func TestPieceOfSmallEntries(t *testing.T) {
	const entries = 8 << 20
	head, err := json.Marshal(&LogHeader{Cluster: "c1", Shard: 7, First: 1, Last: entries, Term: 1, Bytes: entries})
	if err != nil {
		t.Fatal(err)
	}
	b := beginFrame(kindLog, head, entries)
	b = endFrame(append(b, make([]byte, entries)...))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, list, err := DecodeLog("file", b)
	n := 0
	for range list.All() {
		n++
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err != nil || n != entries || took > 1<<20 {
		t.Errorf("%d entries took %d bytes, %v", n, took, err)
	}
	b[len(b)-sha256.Size-1] = 1 // the last entry is a command without a length
	b = endFrame(b[:len(b)-sha256.Size])
	_, _, err = DecodeLog("s3://x/piece", b)
	if err == nil || !strings.HasPrefix(err.Error(), "s3://x/piece is damaged: ") {
		t.Error(err)
	}
}

// TestPieces lists and reads the pieces of a log, and nothing else.
func TestPieces(t *testing.T) {
	t.Parallel()
	p := Place{Bucket: bucket.NewDir(t.TempDir()), Cluster: "c1"}
	put := func(shard, incarnation uint32, entries []LogEntry) Piece {
		t.Helper()
		s, err := p.PutLog(t.Context(), LogHeader{Shard: shard, Incarnation: incarnation, Written: time.Now()}, entries)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := put(7, 1, testEntries(1, 5, 1)), put(7, 2, testEntries(3, 5, 2))
	put(77, 1, testEntries(1, 5, 1))
	put(7, 1, testEntries(1, 5, 1)) // the same entries have another key
	for _, key := range []string{
		"c1/log/7-1/1-5-1.log", "c1/log/7-1/5-1-1-000000000000000a.log", "c2/log/7-1/x",
		"c1/log/7-1/1-18446744073709551615-1-000000000000000a.log", "c1/log/0-1/1-5-1-000000000000000a.log",
	} {
		if err := p.Bucket.Put(t.Context(), key, content([]byte("x"))); err != nil {
			t.Fatal(err)
		}
	}
	list, err := p.Log(t.Context(), 7)
	if err != nil || len(list) != 3 {
		t.Fatalf("%v %v", list, err)
	}
	if all, err := p.Log(t.Context(), 0); err != nil || len(all) != 4 {
		t.Fatalf("%v %v", all, err)
	}
	_, entries, err := p.ReadLog(t.Context(), &b)
	if err != nil || !sameEntries(slices.Collect(entries.All()), testEntries(3, 5, 2)) {
		t.Errorf("%v %v", slices.Collect(entries.All()), err)
	}
	a.Key = b.Key
	if _, _, err := p.ReadLog(t.Context(), &a); err == nil || !strings.Contains(err.Error(), "than its key says") {
		t.Errorf("a piece under the key of another one: %v", err)
	}
}

// TestFollow puts pieces of random histories together. A history is a log whose end is replaced now and then by entries
// of a higher term, and of which leaders store pieces that overlap.
func TestFollow(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(rand.Uint64(), 3))
	for range 3000 {
		terms := []uint64{0} // of the entries, by index
		term := uint64(1)
		var pieces []Piece
		for range 1 + rng.IntN(12) {
			if rng.IntN(3) == 0 {
				term += 1 + rng.Uint64N(2)
				if rng.IntN(3) == 0 { // the group was recovered from a copy with fewer entries
					terms = terms[:1+rng.IntN(len(terms))]
				}
			}
			for range rng.IntN(6) {
				terms = append(terms, term)
			}
			if len(terms) < 2 || rng.IntN(4) == 0 {
				continue // nothing is stored, or the piece is lost
			}
			first := 1 + rng.IntN(len(terms)-1)
			last := first
			for last+1 < len(terms) && terms[last+1] == terms[first] && rng.IntN(8) > 0 {
				last++
			}
			pieces = append(pieces, Piece{
				Key: fmt.Sprint(len(pieces)), First: uint64(first), Last: uint64(last), Term: terms[first],
			})
		}
		rng.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
		from := 1 + rng.Uint64N(uint64(len(terms)))
		checkFollow(t, pieces, from)
	}
}

// checkFollow compares the parts with a search for each index.
func checkFollow(t *testing.T, pieces []Piece, from uint64) {
	t.Helper()
	parts := Follow(pieces, from, 0)
	var got, want []uint64 // the terms of the entries
	next := from
	for _, p := range parts {
		if p.From != next || p.To < p.From || p.From < p.First || p.To > p.Last {
			t.Fatalf("from %d: %+v of %+v", from, parts, pieces)
		}
		for ; next <= p.To; next++ {
			got = append(got, p.Term)
		}
	}
	for index, least := from, uint64(0); ; index++ {
		best := uint64(0)
		for _, p := range pieces {
			if p.First <= index && index <= p.Last && p.Term >= least {
				best = max(best, p.Term)
			}
		}
		if best == 0 {
			break
		}
		want, least = append(want, best), best
	}
	if !slices.Equal(got, want) {
		t.Fatalf("from %d: terms %v, want %v, of %+v", from, got, want, pieces)
	}
	if start := LogStart(pieces, from); start > from || start < from && len(pieces) == 0 {
		t.Fatalf("the start before %d is %d", from, start)
	}
}
