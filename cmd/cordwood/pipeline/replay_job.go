package pipeline

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/cmd/cordwood/ingest"
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
const rejectedColumns = "rejected_at, table_schema, table_name, pipeline, pipeline_version, custom_time_index, " +
	"record_index, kind, error, format, record"

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// sum returns the hash of all that is kept of a record.
func (r *rejected) sum() [sha256.Size]byte {
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

// rejectID returns the identity of a record: its hash, and a number among records that are equal
// in everything, even in the nanosecond.
func rejectID(sum [sha256.Size]byte, nth int) string {
	if nth > 0 {
		sum = sha256.Sum256(binary.BigEndian.AppendUint64(sum[:], uint64(nth)))
	}
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// line returns the record on a line of its own, so that a malformed one spoils no other.
func (r *rejected) line() []byte {
	var out bytes.Buffer
	if r.Format == "json" && json.Compact(&out, []byte(r.Record)) == nil {
		return out.Bytes()
	}
	return []byte(strings.NewReplacer("\r", " ", "\n", " ").Replace(r.Record))
}

// destination says where a record goes and how it is read.
type destination struct{ db, table, pipeline, timeIndex, format string }

// A chunk of records is held in memory: it ends at so many records or bytes.
const (
	replayRecords = 400
	replayBytes   = 4 << 20
)

// replayRequests is how many requests are under way at once. Shards fsync the rows of requests
// that meet together.
const replayRequests = 64

// replayItem is a record that is to be sent.
type replayItem struct {
	id   string
	to   destination
	line []byte
}

// replay sends kept records again, each in a request of its own, whose key is made of the
// record alone. So the server recognises a record, whichever user sends it, and whichever records
// are sent before or after it.
type replay struct {
	api     *api
	options *replayOptions

	done  map[string]bool // ids of records that were stored
	nonce string          // of a run that sends again what was stored
	seen  map[[sha256.Size]byte]int

	// list, if not nil, takes the records that were not stored yet; nothing is sent then.
	list io.Writer

	chunk      []replayItem
	chunkBytes int
	// begun are the destinations that got a record.
	begun map[destination]bool

	last                              time.Time // of the records that were read
	records, written, skipped, before int64
	// reasons are the first different ones of records that failed. A request is tried in smaller parts when it fails, so
	// that how often a reason comes says nothing.
	reasons []string
}

func (j *replay) run(ctx context.Context, where string) error {
	if err := j.readDone(ctx); err != nil {
		return err
	}
	rows, err := j.api.selectRejects(ctx, "SELECT "+rejectedColumns+" FROM svc_private.rejects WHERE "+where+
		" ORDER BY rejected_at, record_index, "+
		"table_schema, table_name, pipeline, record, error", "ndjson")
	if err != nil || rows == nil {
		return err
	}
	defer rows.Close()
	taken := 0
	err = cli.EachLine(rows, func(line []byte) error {
		if j.options.limit > 0 && taken == j.options.limit {
			return nil
		}
		var r rejected
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("reading a kept record: %w", err)
		}
		if j.list != nil {
			if j.done[j.id(&r)] {
				return nil
			}
			taken++
			_, err := fmt.Fprintf(j.list, "%s\n", line)
			return err
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
	return j.send(ctx)
}

// readDone reads which records earlier runs stored.
func (j *replay) readDone(ctx context.Context) error {
	j.done = map[string]bool{}
	if j.options.again {
		j.nonce = rand.Text()
		return nil
	}
	return j.readNotes(ctx, "")
}

// readNotes reads the notes that meet a condition, all notes that were made until now.
func (j *replay) readNotes(ctx context.Context, where string) error {
	rows, err := j.api.selectRejects(ctx, "SELECT id FROM svc_private.replayed"+where, "ndjson")
	if err != nil || rows == nil {
		return err
	}
	defer rows.Close()
	return cli.EachLine(rows, func(line []byte) error {
		var r struct{ ID string }
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("reading what was sent again before: %w", err)
		}
		j.done[r.ID] = true
		return nil
	})
}

// id returns the identity of the next record.
func (j *replay) id(r *rejected) string {
	sum := r.sum()
	if !r.At.Equal(j.last) {
		clear(j.seen) // records that are alike have one time
	}
	id := rejectID(sum, j.seen[sum])
	j.seen[sum]++
	j.last = r.At
	return id
}

// add puts a record into the chunk, unless it was stored before.
func (j *replay) add(ctx context.Context, r *rejected) (added bool, err error) {
	id := j.id(r)
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
	switch {
	case j.done[id]:
		j.before++
		return false, nil
	case len(bytes.TrimSpace(line)) == 0:
		j.fail("the record is empty")
		return true, nil
	case to.pipeline == "" && replayPaths[to.format] == "":
		j.fail("the record came through no pipeline: name one with --to")
		return true, nil
	}
	j.chunk = append(j.chunk, replayItem{id: id, to: to, line: append(line, '\n')})
	j.chunkBytes += len(line)
	if len(j.chunk) == replayRecords || j.chunkBytes >= replayBytes {
		err = j.send(ctx)
	}
	return true, err
}

// send sends the chunk, without what another run has stored meanwhile.
func (j *replay) send(ctx context.Context) error {
	if len(j.chunk) == 0 {
		return nil
	}
	chunk := j.chunk
	j.chunk, j.chunkBytes = nil, 0
	if !j.options.again {
		ids := make([]string, len(chunk))
		for i := range chunk {
			ids[i] = cli.Literal(chunk[i].id)
		}
		if err := j.readNotes(ctx, " WHERE id IN ("+strings.Join(ids, ", ")+")"); err != nil {
			return err
		}
		all := len(chunk)
		chunk = slices.DeleteFunc(chunk, func(r replayItem) bool { return j.done[r.id] })
		j.before += int64(all - len(chunk))
	}
	answers := make([]*replayAnswer, len(chunk))
	requests, within := errgroup.WithContext(ctx)
	requests.SetLimit(replayRequests)
	for i := range chunk {
		r := &chunk[i]
		post := func() (err error) {
			answers[i], err = j.post(within, r)
			return err
		}
		if j.begun[r.to] {
			requests.Go(post)
			continue
		}
		// The first one makes the table, if there is none, and its columns: it goes alone.
		j.begun[r.to] = true
		if err := post(); err != nil {
			requests.Go(func() error { return err })
			break
		}
	}
	err := requests.Wait()
	for _, a := range answers {
		if a != nil {
			j.count(a)
		}
	}
	return err
}

// key returns the key of the request that sends a record again. It does not name the destination
// or the pipeline, so that a table knows the record through whichever pipeline it comes.
func (j *replay) key(id string) string {
	return "replay-" + id + j.nonce
}

// replayAnswer is the answer to one record.
type replayAnswer struct {
	ingest.Ingested
	Skipped struct {
		Count   int64        `json:"count"`
		Reasons []skipReason `json:"reasons"`
	} `json:"skipped"`
}

// skipReason is why a record was left out.
type skipReason struct {
	Error string `json:"error"`
}

// replayPaths are where rejects go that are requests of another protocol, by their format.
var replayPaths = map[string]string{"loki": "/v1/loki/api/v1/push", "otlp": "/v1/logs"}

// post sends a record. The server notes it if it stores it.
func (j *replay) post(ctx context.Context, r *replayItem) (*replayAnswer, error) {
	if path := replayPaths[r.to.format]; path != "" {
		return j.postRequest(ctx, path, r)
	}
	contentType := ingest.ContentTypes[ingest.FormatNDJSON]
	if r.to.format == "text" {
		contentType = ingest.ContentTypes[ingest.FormatText]
	}
	query := url.Values{
		"db": {r.to.db}, "table": {r.to.table}, "pipeline_name": {r.to.pipeline},
		"skip_error": {"true"}, "on_reject": {j.options.onReject},
	}
	if r.to.timeIndex != "" {
		query.Set("custom_time_index", r.to.timeIndex)
	}
	answer := &replayAnswer{}
	_, err := j.api.call(ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/ingest", Query: query,
		Header: http.Header{
			"Content-Type":    {contentType},
			"Idempotency-Key": {j.key(r.id)},
			"X-Svc-Replayed":  {r.id},
		}, Body: r.line,
	}, answer)
	if err != nil {
		return nil, fmt.Errorf("to table %s through %s: %w", r.to.table, r.to.pipeline, err)
	}
	return answer, nil
}

// postRequest sends a record that is a request of another protocol.
func (j *replay) postRequest(ctx context.Context, path string, r *replayItem) (*replayAnswer, error) {
	query := url.Values{"db": {r.to.db}, "table": {r.to.table}, "on_reject": {j.options.onReject}}
	if r.to.pipeline != "" {
		query.Set("pipeline_name", r.to.pipeline)
	}
	answer := &struct {
		replayAnswer
		PartialSuccess struct {
			Rejected int64  `json:"rejectedLogRecords,string"`
			Message  string `json:"errorMessage"`
		} `json:"partialSuccess"`
	}{}
	_, err := j.api.call(ctx, client.Request{
		Method: http.MethodPost, Path: path, Query: query, Body: r.line, Header: http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json"},
			"Idempotency-Key": {j.key(r.id)}, "X-Svc-Replayed": {r.id},
		},
	}, answer)
	why := ""
	refusal := (*client.Error)(nil)
	switch {
	case errors.As(err, &refusal) && refusal.Status == http.StatusBadRequest:
		why = refusal.Msg // of its only record
	case err != nil:
		return nil, fmt.Errorf("to table %s at %s: %w", r.to.table, path, err)
	case answer.PartialSuccess.Rejected > 0:
		why = answer.PartialSuccess.Message
	}
	if why != "" {
		answer.Skipped.Count, answer.Skipped.Reasons = 1, []skipReason{{why}}
	}
	return &answer.replayAnswer, nil
}

// count counts a record that was sent.
func (j *replay) count(a *replayAnswer) {
	j.records++
	j.skipped += min(a.Skipped.Count, 1)
	for _, o := range a.Output {
		j.written += o.AffectedRows
	}
	for _, r := range a.Skipped.Reasons {
		j.note(r.Error)
	}
}

// fail counts a record that cannot be sent.
func (j *replay) fail(reason string) {
	j.records++
	j.skipped++
	j.note(reason)
}

func (j *replay) note(reason string) {
	if len(j.reasons) < ingest.MaxReasons && !slices.Contains(j.reasons, reason) {
		j.reasons = append(j.reasons, reason)
	}
}
