package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"cordwood/cmd/cordwood/client"
)

// rejected is a kept record.
type rejected struct {
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

// rejectedColumns are the columns that rejected has.
const rejectedColumns = "rejected_at, table_schema, table_name, pipeline, pipeline_version, custom_time_index, record_index, kind, error, format, record"

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// sum is the hash of all that is kept of a record.
func (r *rejected) sum() [sha256.Size]byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(r.At.UnixNano()))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Index))
	for _, s := range []string{r.DB, r.Table, r.Pipeline, text(r.Version), text(r.TimeIndex), r.Kind, r.Error, r.Format, r.Record} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return sha256.Sum256(b)
}

// rejectID is the identity of a record: its hash, and which one it is of those that are
// alike in everything, even in the nanosecond.
func rejectID(sum [sha256.Size]byte, nth int) string {
	if nth > 0 {
		sum = sha256.Sum256(binary.BigEndian.AppendUint64(sum[:], uint64(nth)))
	}
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// line is the record on a line of its own, so that a malformed one spoils no other.
func (r *rejected) line() []byte {
	var out bytes.Buffer
	if r.Format == "json" && json.Compact(&out, []byte(r.Record)) == nil {
		return out.Bytes()
	}
	return []byte(strings.NewReplacer("\r", " ", "\n", " ").Replace(r.Record))
}

// destination is what records of one request must have in common.
type destination struct{ db, table, pipeline, timeIndex, format string }

// Batches end at so many records or bytes.
const (
	replayRecords = 400
	replayBytes   = 4 << 20
)

// replayBatch is records for one destination.
type replayBatch struct {
	ids  []string
	body bytes.Buffer
	// records and bytes count those too that are left out.
	records, bytes int
}

// replay sends kept records again.
//
// It must send the same batches when it runs again after it was killed: their keys, made of
// the records, are then known to the server. Where a batch ends is therefore told by the
// records of its destination alone, wherever the run begins.
type replay struct {
	api     *pipelineAPI
	options *replayOptions

	done    map[string]bool // ids of records that were stored
	nonce   string          // of a run that sends again what was stored
	seen    map[[sha256.Size]byte]int
	batches map[destination]*replayBatch

	last                              time.Time // of the records that were read
	records, written, skipped, before int64
	reasons                           map[string]int
	order                             []string
}

func (j *replay) run(ctx context.Context, where string) error {
	if err := j.readDone(ctx); err != nil {
		return err
	}
	rows, err := j.api.selectRejects(ctx, "SELECT "+rejectedColumns+" FROM svc_private.rejects WHERE "+where+" ORDER BY rejected_at, record_index, "+
		"table_schema, table_name, pipeline, record, error", "ndjson")
	if err != nil || rows == nil {
		return err
	}
	defer rows.Close()
	taken := 0
	err = eachLine(rows, func(line []byte) error {
		if j.options.limit > 0 && taken == j.options.limit {
			return nil
		}
		var r rejected
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("reading a kept record: %w", err)
		}
		added, err := j.add(ctx, &r)
		if added {
			taken++
		}
		return err
	})
	if err != nil {
		return err
	}
	var rest []destination
	for to := range j.batches {
		rest = append(rest, to)
	}
	slices.SortFunc(rest, func(a, b destination) int {
		return strings.Compare(fmt.Sprintf("%q", a), fmt.Sprintf("%q", b))
	})
	for _, to := range rest {
		if err := j.send(ctx, to); err != nil {
			return err
		}
	}
	return nil
}

// readDone reads which records earlier runs stored.
func (j *replay) readDone(ctx context.Context) error {
	j.done = map[string]bool{}
	if j.options.again {
		j.nonce = rand.Text()
		return nil
	}
	rows, err := j.api.selectRejects(ctx, "SELECT id FROM svc_private.replayed", "ndjson")
	if err != nil || rows == nil {
		return err
	}
	defer rows.Close()
	return eachLine(rows, func(line []byte) error {
		var r struct{ ID string }
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("reading what was sent again before: %w", err)
		}
		j.done[r.ID] = true
		return nil
	})
}

// add puts a record into the batch for its destination, unless it was stored before.
func (j *replay) add(ctx context.Context, r *rejected) (added bool, err error) {
	sum := r.sum()
	if !r.At.Equal(j.last) {
		clear(j.seen) // records that are alike have one time
	}
	id := rejectID(sum, j.seen[sum])
	j.seen[sum]++
	j.last = r.At
	to := destination{db: r.DB, table: r.Table, pipeline: r.Pipeline, format: r.Format, timeIndex: text(r.TimeIndex)}
	if j.options.to != "" {
		to.pipeline = j.options.to
	}
	if j.options.toTable != "" {
		to.table = j.options.toTable
	}
	if j.options.toDB != "" {
		to.db = j.options.toDB
	}
	line := r.line()
	b := j.batches[to]
	if b == nil {
		b = &replayBatch{}
		j.batches[to] = b
	}
	b.records, b.bytes = b.records+1, b.bytes+len(line)+1
	switch {
	case j.done[id]:
		j.before++
	case len(bytes.TrimSpace(line)) == 0:
		j.fail("the record is empty")
		added = true
	case line[0] == '[' && to.format == "json":
		// An array is several records, which have one id: it goes alone.
		if err := j.post(ctx, to, []string{id}, append(line, '\n')); err != nil {
			return true, err
		}
		added = true
	default:
		b.ids = append(b.ids, id)
		b.body.Write(line)
		b.body.WriteByte('\n')
		added = true
	}
	// One record in 128 ends a batch. That, and the bounds, count records that were stored
	// before as well.
	if sum[len(sum)-1]&127 == 0 || b.records >= replayRecords || b.bytes >= replayBytes {
		err = j.send(ctx, to)
	}
	return added, err
}

// send sends the batch for a destination, if there is one.
func (j *replay) send(ctx context.Context, to destination) error {
	b := j.batches[to]
	delete(j.batches, to)
	if b == nil || len(b.ids) == 0 {
		return nil
	}
	return j.post(ctx, to, b.ids, b.body.Bytes())
}

// key is that of a request that sends records again.
func (j *replay) key(to destination, ids []string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", to, ids, j.nonce))
	return "replay-" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// post sends records. The server notes those that it stores.
func (j *replay) post(ctx context.Context, to destination, ids []string, body []byte) error {
	contentType := contentTypes[formatNDJSON]
	if to.format == "text" {
		contentType = contentTypes[formatText]
	}
	query := url.Values{
		"db": {to.db}, "table": {to.table}, "pipeline_name": {to.pipeline},
		"skip_error": {"true"}, "on_reject": {j.options.onReject},
	}
	if to.timeIndex != "" {
		query.Set("custom_time_index", to.timeIndex)
	}
	var answer struct {
		ingested
		Skipped struct {
			Count   int64 `json:"count"`
			Reasons []struct {
				Error string `json:"error"`
			} `json:"reasons"`
		} `json:"skipped"`
	}
	_, err := j.api.call(ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/ingest", Query: query,
		Header: http.Header{"Content-Type": {contentType}, "Idempotency-Key": {j.key(to, ids)}, "X-Svc-Replayed": {strings.Join(ids, ",")}}, Body: body,
	}, &answer)
	if err != nil {
		return fmt.Errorf("to table %s through %s: %w", to.table, to.pipeline, err)
	}
	j.records += int64(len(ids))
	j.skipped += answer.Skipped.Count
	for _, o := range answer.Output {
		j.written += o.AffectedRows
	}
	for _, r := range answer.Skipped.Reasons {
		j.note(r.Error)
	}
	return nil
}

// fail counts a record that cannot be sent.
func (j *replay) fail(reason string) {
	j.records++
	j.skipped++
	j.note(reason)
}

func (j *replay) note(reason string) {
	if j.reasons[reason] == 0 {
		if len(j.order) == maxReasons {
			return
		}
		j.order = append(j.order, reason)
	}
	j.reasons[reason]++
}
