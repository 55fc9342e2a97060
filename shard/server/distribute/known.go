package distribute

import (
	"bytes"
	"slices"
	"strconv"
	"sync"
	"time"

	"cordwood/proto/lru"
)

// This file keeps answers of repeated statements together with the partial results from which they were computed. If
// all nodes return the same bytes again, which they do as long as their rows stay the same, the answer is the same too.

const (
	// maxKnown is the maximum size of an answer with its partial results, in bytes.
	maxKnown = 1 << 20
	// knownOverhead is an estimate of the memory of an entry without its texts and bytes.
	knownOverhead = 512
)

// known are answers with their partial results. A nil pointer keeps nothing. It is safe for concurrent use.
type known struct {
	limit int64

	mu      sync.Mutex // guards answers
	answers *lru.Cache[string, *knownAnswer]
}

// knownAnswer is an answer that was computed from partial results. It is immutable.
type knownAnswer struct {
	at time.Time
	// streams and ipc are nil if the statement was run only once.
	streams [][]byte
	ipc     []byte
}

// newKnown returns a cache of at most limit bytes, or nil if limit is 0.
func newKnown(limit int64) *known {
	if limit <= 0 {
		return nil
	}
	return &known{limit: limit, answers: lru.New[string, *knownAnswer](limit)}
}

// get returns the answer for partial results if it is known. Otherwise it reports whether it should be kept, because
// the statement was run lately.
func (k *known) get(key string, streams [][]byte) (ipc []byte, again bool) {
	if k == nil {
		return nil, false
	}
	k.mu.Lock()
	a, ok := k.answers.Get(key)
	k.mu.Unlock()
	if !ok || time.Since(a.at) > keptFor {
		k.put(key, nil, nil)
		return nil, false
	}
	if a.ipc != nil && slices.EqualFunc(a.streams, streams, bytes.Equal) {
		return a.ipc, true
	}
	return nil, true
}

// put keeps an answer. Neither its bytes nor those of the partial results may change. An answer of nil only records
// that the statement was run.
func (k *known) put(key string, streams [][]byte, ipc []byte) {
	size := int64(len(ipc))
	for _, s := range streams {
		size += int64(len(s))
	}
	if weight := size + int64(len(key)) + knownOverhead; size <= maxKnown && weight <= k.limit {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.answers.Put(key, &knownAnswer{time.Now(), streams, ipc}, weight)
	}
}

// knownKey identifies the last step of a statement. It returns "" if the answer cannot be kept.
func (d *Statement) knownKey() string {
	if d.nodes.known == nil || d.split.Explain != "" || d.counted || d.split.Draws || d.blocks != nil ||
		len(d.missing) > 0 {
		return ""
	}
	t := d.table.Table
	b := make([]byte, 0, len(d.req.Sql)+len(d.split.Worker)+len(d.split.Final)+128)
	for _, n := range []uint64{d.req.Limit, t.Id, uint64(t.Version)} {
		b = append(strconv.AppendUint(b, n, 10), ' ')
	}
	// Values of subqueries that ran first are in the texts of the split statement.
	for _, text := range []string{d.req.Database, d.req.Timezone, d.req.Sql, d.split.Worker, d.split.Final} {
		b = append(strconv.AppendInt(b, int64(len(text)), 10), ' ')
		b = append(b, text...)
	}
	return string(b)
}

// copy adds bytes that are sent to the copy of the answer, as long as it is small enough to be kept.
func (d *Statement) copy(ipc []byte) {
	if !d.copying {
		return
	}
	if len(d.copied)+len(ipc) > maxKnown {
		d.copying, d.copied = false, nil
		return
	}
	d.copied = append(d.copied, ipc...)
}
