package states

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"cordwood/shard/cold/bucket"
)

// LogHeader describes a piece of the log of a shard.
type LogHeader struct {
	Cluster     string `json:"cluster"`
	Shard       uint32 `json:"shard"`
	Incarnation uint32 `json:"incarnation"`
	// First and Last are the indexes of the first and the last entry, Term is the term of all of them.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	Term  uint64 `json:"term"`
	// Before is the term of the entry before the first one; 0 if it is not known.
	Before uint64 `json:"before,omitempty"`
	// Written is the clock of the node that stored the piece.
	Written time.Time `json:"written"`
	// Bytes is the length of the entries.
	Bytes int64 `json:"bytes"`
}

// LogEntry is an entry of the log of a shard.
type LogEntry struct {
	Index, Term uint64
	// Command means that Data is an entry of the shard. Other entries belong to its raft group, and have no Data.
	Command bool
	Data    []byte
}

// Piece is a piece of the log in the bucket.
type Piece struct {
	Key                string
	Modified           time.Time
	Size               int64
	Shard, Incarnation uint32
	First, Last, Term  uint64
}

// EncodeLog returns the file of a piece. The entries are in order, without gaps, and of one term. h needs only Cluster,
// Shard, Incarnation, Before and Written.
func EncodeLog(h *LogHeader, entries []LogEntry) ([]byte, error) {
	head := *h
	head.First, head.Last, head.Term = entries[0].Index, entries[len(entries)-1].Index, entries[0].Term
	size := 0
	for i := range entries {
		e := &entries[i]
		if e.Term != head.Term || e.Index != head.First+uint64(i) {
			return nil, fmt.Errorf("shard %d: a piece of the log with entry %d of term %d after entry %d of term %d", h.Shard,
				e.Index, e.Term, head.First, head.Term)
		}
		if size++; e.Command {
			size += uvarintLen(len(e.Data)) + len(e.Data)
		}
	}
	if size > maxBody {
		return nil, fmt.Errorf("shard %d: a piece of the log with %d bytes, at most %d are stored", h.Shard, size, maxBody)
	}
	head.Bytes = int64(size)
	text, err := json.Marshal(&head)
	if err != nil {
		return nil, err
	}
	b := beginFrame(kindLog, text, size) // not compressed, because the rows in the entries are
	for i := range entries {
		e := &entries[i]
		if !e.Command {
			b = append(b, 0)
			continue
		}
		b = append(b, 1)
		b = binary.AppendUvarint(b, uint64(len(e.Data)))
		b = append(b, e.Data...)
	}
	return endFrame(b), nil
}

// uvarintLen returns the length of n as a uvarint.
func uvarintLen(n int) int {
	var b [binary.MaxVarintLen64]byte
	return binary.PutUvarint(b[:], uint64(n)) //nolint:gosec // a length is not negative
}

// LogEntries are the entries of a piece that was checked. They are decoded when they are read, so that they take no
// memory besides the piece: an entry can have one byte there.
type LogEntries struct {
	first, term uint64
	body        []byte
}

// All returns the entries in order. Their Data is part of the piece.
func (l LogEntries) All() iter.Seq[LogEntry] {
	return func(yield func(LogEntry) bool) {
		for index, body := l.first, l.body; len(body) > 0; index++ {
			e := LogEntry{Index: index, Term: l.term}
			if e.Command, e.Data, body, _ = cutEntry(body); !yield(e) {
				return
			}
		}
	}
}

// cutEntry decodes the first entry of some. ok is false if it is damaged.
func cutEntry(b []byte) (command bool, data, rest []byte, ok bool) {
	if len(b) == 0 || b[0] > 1 {
		return false, nil, nil, false
	}
	if b[0] == 0 {
		return false, nil, b[1:], true
	}
	n, size := binary.Uvarint(b[1:])
	if b = b[1:]; size <= 0 || n > uint64(len(b)-size) {
		return false, nil, nil, false
	}
	end := size + int(n)
	return true, b[size:end:end], b[end:], true
}

// DecodeLog checks the file of a piece. name is its source, for errors. The entries are in b.
func DecodeLog(name string, b []byte) (h LogHeader, entries LogEntries, err error) {
	f, err := decodeFrame(name, b)
	if err != nil {
		return h, LogEntries{}, err
	}
	if f.kind != kindLog {
		return h, LogEntries{}, damaged(name, "it is of kind %d, want %d, a piece of a log", f.kind, kindLog)
	}
	if err := json.Unmarshal(f.head, &h); err != nil {
		return LogHeader{}, LogEntries{}, damaged(name, "its header: %w", err)
	}
	body := f.body
	if int64(len(body)) != h.Bytes {
		return h, LogEntries{}, damaged(name, "the entries have %d bytes, want %d", len(body), h.Bytes)
	}
	if h.First == 0 || h.Last < h.First || h.Last-h.First >= uint64(len(body)) {
		return h, LogEntries{}, damaged(name, "it has entries %d to %d in %d bytes", h.First, h.Last, len(body))
	}
	for index := h.First; index <= h.Last; index++ {
		_, _, rest, ok := cutEntry(body)
		if !ok {
			return h, LogEntries{}, damaged(name, "entry %d is missing or too long", index)
		}
		body = rest
	}
	if len(body) > 0 {
		return h, LogEntries{}, damaged(name, "it has %d bytes too many", len(body))
	}
	return h, LogEntries{first: h.First, term: h.Term, body: f.body}, nil
}

func (p Place) logPrefix() string { return p.Cluster + "/log/" }

// parseLog describes the piece with a key. ok is false for other objects.
func (p Place) parseLog(i bucket.Info) (s Piece, ok bool) {
	s = Piece{Key: i.Key, Modified: i.Modified, Size: i.Size}
	rest, ok := strings.CutPrefix(i.Key, p.logPrefix())
	if !ok {
		return s, false
	}
	var random uint64
	n, err := fmt.Sscanf(rest, "%d-%d/%d-%d-%d-%x.log", &s.Shard, &s.Incarnation, &s.First, &s.Last, &s.Term, &random)
	again := fmt.Sprintf("%d-%d/%d-%d-%d-%016x.log", s.Shard, s.Incarnation, s.First, s.Last, s.Term, random)
	// An entry after the last one must have an index, and shard 0 stands for the metadata.
	return s, n == 6 && err == nil && rest == again && s.Shard > 0 && s.First > 0 && s.First <= s.Last &&
		s.Last < math.MaxUint64
}

// PutLog stores entries as a piece. They are as EncodeLog wants them.
func (p Place) PutLog(ctx context.Context, h LogHeader, entries []LogEntry) (Piece, error) {
	h.Cluster = p.Cluster
	b, err := EncodeLog(&h, entries)
	if err != nil {
		return Piece{}, err
	}
	s := Piece{
		Modified: h.Written, Size: int64(len(b)), Shard: h.Shard, Incarnation: h.Incarnation,
		First: entries[0].Index, Last: entries[len(entries)-1].Index, Term: entries[0].Term,
	}
	s.Key = fmt.Sprintf("%s%d-%d/%d-%d-%d-%016x.log", p.logPrefix(), s.Shard, s.Incarnation, s.First, s.Last, s.Term,
		rand.Uint64())
	return s, p.Bucket.Put(ctx, s.Key, content(b))
}

// ReadLog reads and checks a piece.
func (p Place) ReadLog(ctx context.Context, s *Piece) (h LogHeader, entries LogEntries, err error) {
	b, err := bucket.ReadAll(ctx, p.Bucket, s.Key, bucket.MaxPut)
	if err != nil {
		return h, LogEntries{}, err
	}
	if h, entries, err = DecodeLog(p.Bucket.Location()+"/"+s.Key, b); err != nil {
		return h, LogEntries{}, err
	}
	if h.Cluster != p.Cluster || h.Shard != s.Shard || h.Incarnation != s.Incarnation || h.Term != s.Term ||
		h.First != s.First || h.Last != s.Last {
		return h, LogEntries{}, fmt.Errorf("%s/%s has entries %d to %d of shard %d of cluster %s: it is another one than "+
			"its key says", p.Bucket.Location(), s.Key, h.First, h.Last, h.Shard, h.Cluster)
	}
	return h, entries, nil
}

// Log lists the pieces of the log of a shard, in all its incarnations; of all shards if shard is 0.
func (p Place) Log(ctx context.Context, shard uint32) (list []Piece, err error) {
	prefix := p.logPrefix()
	if shard != 0 {
		prefix = fmt.Sprintf("%s%d-", prefix, shard)
	}
	err = p.Bucket.List(ctx, prefix, func(i bucket.Info) error {
		s, ok := p.parseLog(i)
		if !ok {
			return nil
		}
		if len(list) == maxFound {
			return fmt.Errorf("there are more than %d pieces of logs below %s", maxFound, prefix)
		}
		list = append(list, s)
		return nil
	})
	return list, err
}

// LogPart are the entries from From to To of a piece.
type LogPart struct {
	Piece
	From, To uint64
}

// Follow puts pieces of one incarnation together: it returns the parts with the entries from an index on, up to the
// first one that no piece has. Pieces may overlap. Of two entries of one index the one of the higher term counts, and
// the term of an entry is never below that of the entry before, nor below least: a lower one was replaced.
func Follow(pieces []Piece, from, least uint64) (parts []LogPart) {
	sorted := slices.Clone(pieces)
	slices.SortFunc(sorted, func(a, b Piece) int { return cmp.Compare(a.First, b.First) })
	var reach []Piece // those that begin at from or before, and end at it or later
	next := 0
	for {
		for ; next < len(sorted) && sorted[next].First <= from; next++ {
			reach = append(reach, sorted[next])
		}
		reach = slices.DeleteFunc(reach, func(p Piece) bool { return p.Last < from || p.Term < least })
		if len(reach) == 0 {
			return parts
		}
		best := slices.MaxFunc(reach, func(a, b Piece) int {
			return cmp.Or(cmp.Compare(a.Term, b.Term), cmp.Compare(a.Last, b.Last), strings.Compare(a.Key, b.Key))
		})
		part := LogPart{Piece: best, From: from, To: best.Last}
		for i := next; i < len(sorted) && sorted[i].First <= part.To; i++ {
			if sorted[i].Term > best.Term {
				part.To = sorted[i].First - 1
			}
		}
		parts = append(parts, part)
		from, least = part.To+1, best.Term
	}
}

// LogStart returns the first entry from which on pieces have all entries up to one, or this one.
func LogStart(pieces []Piece, to uint64) uint64 {
	sorted := slices.Clone(pieces)
	slices.SortFunc(sorted, func(a, b Piece) int { return cmp.Compare(b.Last, a.Last) })
	start, term := to, ^uint64(0)
	for _, p := range sorted {
		if p.First < start && p.Last+1 >= start && p.Term <= term {
			start, term = p.First, p.Term
		}
	}
	return start
}
