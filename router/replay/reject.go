package replay

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"
)

// Reject is a kept record: a row of svc_private.rejects.
type Reject struct {
	At        time.Time `json:"rejected_at"`
	DB        string    `json:"table_schema"`
	Table     string    `json:"table_name"`
	Pipeline  string    `json:"pipeline"`
	Version   *string   `json:"pipeline_version"`
	TimeIndex *string   `json:"custom_time_index"`
	Index     int64     `json:"record_index"`
	Kind      string    `json:"kind"`
	Error     string    `json:"error"`
	Format    string    `json:"format"`
	Record    string    `json:"record"`
}

// columns are the columns that Reject has.
const columns = "rejected_at, table_schema, table_name, pipeline, pipeline_version, custom_time_index, " +
	"record_index, kind, error, format, record"

// Select returns the statement that reads the rejects that meet a condition, the oldest first.
func Select(where string) string {
	return "SELECT " + columns + " FROM svc_private.rejects WHERE " + where +
		" ORDER BY rejected_at, record_index, table_schema, table_name, pipeline, record, error"
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// sum returns a hash of all columns of a reject.
func (r *Reject) sum() [sha256.Size]byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(r.At.UnixNano()))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Index))
	for _, s := range []string{
		r.DB, r.Table, r.Pipeline, text(r.Version), text(r.TimeIndex), r.Kind, r.Error, r.Format, r.Record,
	} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return sha256.Sum256(b)
}

// line returns the record on a separate line, so that a malformed record does not affect others.
func (r *Reject) line() []byte {
	var out bytes.Buffer
	if r.Format == "json" && json.Compact(&out, []byte(r.Record)) == nil {
		return out.Bytes()
	}
	return []byte(strings.NewReplacer("\r", " ", "\n", " ").Replace(r.Record))
}

// IDs computes the ids of the rejects that Select returned, in their order. Notes about stored records contain these
// ids. The zero value is ready for use.
type IDs struct {
	last time.Time
	seen map[[sha256.Size]byte]int
}

// Of returns the id of the next reject: its hash, and its number among identical rejects, which also have the same
// time.
func (i *IDs) Of(r *Reject) string {
	sum := r.sum()
	if i.seen == nil || !r.At.Equal(i.last) {
		i.seen = map[[sha256.Size]byte]int{}
	}
	nth := i.seen[sum]
	i.seen[sum]++
	i.last = r.At
	if nth > 0 {
		sum = sha256.Sum256(binary.BigEndian.AppendUint64(sum[:], uint64(nth)))
	}
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Last returns the time of the reject that Of got last.
func (i *IDs) Last() time.Time { return i.last }
