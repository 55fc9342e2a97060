package replay

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"cordwood/proto/rights"
	"cordwood/router/pipeline"
)

// Backend runs statements and stores records with the rights of the client that requested the replay.
type Backend interface {
	// Rows runs a statement and returns its rows as NDJSON, or nil if one of its tables does not exist. When ctx ends,
	// the statement stops.
	Rows(ctx context.Context, sql string) (io.ReadCloser, error)
	// Store stores one record, or refuses it permanently. An error ends the replay.
	Store(ctx context.Context, r *Record) (Outcome, error)
	// Try returns how many of the records would fail, and the reason. All records have the same destination.
	Try(ctx context.Context, to Destination, lines []byte) (failed int64, reasons []string, err error)
}

// Destination says where a record is stored and how it is parsed.
type Destination struct{ DB, Table, Pipeline, TimeIndex, Format string }

// Record is a record to send.
type Record struct {
	// ID identifies the record in the notes, and Key identifies the request.
	ID, Key string
	To      Destination
	// Line is the record, including the line end.
	Line     []byte
	OnReject string
}

// Outcome is the result of sending a record.
type Outcome struct {
	Rows int64
	// Failed is the reason why it was refused. It is empty if the record was stored.
	Failed string
}

// The limits of a chunk of records, which is held in memory.
const (
	chunkRecords = 400
	chunkBytes   = 4 << 20
	// tryRecords is the maximum number of records in one call of Try.
	tryRecords = 100
)

// parallel is the maximum number of records that are sent concurrently. Shards write the rows of concurrent requests
// with one fsync.
const parallel = 64

// MaxReasons is the maximum number of distinct reasons in a report.
const MaxReasons = 20

// protocols maps the formats of rejects that are requests of another protocol to the paths that accept them. Such
// rejects need no pipeline.
var protocols = map[string]string{"loki": "/v1/loki/api/v1/push", "otlp": "/v1/logs"}

// ProtocolPath returns the path that accepts rejects of a format. It is empty if the rejects are not requests of
// another protocol.
func ProtocolPath(format string) string { return protocols[format] }

// Job sends records again.
type Job struct {
	req     *Request
	backend Backend
	// tell, if not nil, is called after each chunk.
	tell func(Progress)

	ids   IDs
	asked map[string]bool // the records that the request names; nil means all records
	nonce string          // makes the keys of a request that sends stored records again differ from earlier keys
	chunk []Record
	bytes int
	taken int
	// started has the destinations that have received a record.
	started map[Destination]bool

	progress Progress
}

// NewJob returns a job for a request that Check has accepted.
func NewJob(req *Request, backend Backend, tell func(Progress)) *Job {
	j := &Job{req: req, backend: backend, tell: tell, started: map[Destination]bool{}}
	j.progress.Reasons = []Reason{}
	if req.IDs != nil {
		j.asked = map[string]bool{}
	}
	for _, id := range req.IDs {
		j.asked[id] = true
	}
	if req.Again {
		j.nonce = rand.Text()
	}
	return j
}

// Run sends the records. The counts that it returns are valid even if it returns an error.
func (j *Job) Run(ctx context.Context) (End, error) {
	err := j.run(ctx)
	end := End{Progress: j.progress, End: true}
	if at := j.ids.Last(); !at.IsZero() {
		end.Until = &at
	}
	return end, err
}

func (j *Job) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // stop the statement
	where, err := j.req.Where()
	if err != nil {
		return err
	}
	if err := j.countAll(ctx, where); err != nil {
		return err
	}
	err = j.each(ctx, Select(where), func(line []byte) error {
		if j.req.Limit > 0 && j.taken == j.req.Limit {
			return io.EOF
		}
		r := &Reject{}
		if err := decode(line, r); err != nil {
			return err
		}
		return j.add(ctx, r)
	})
	if err != nil {
		return err
	}
	return j.send(ctx)
}

// countAll counts the records.
func (j *Job) countAll(ctx context.Context, where string) error {
	if len(j.req.IDs) > 0 {
		j.progress.Of = int64(len(j.req.IDs))
		return nil
	}
	err := j.each(ctx, "SELECT count(*) AS n FROM svc_private.rejects WHERE "+where, func(line []byte) error {
		var row struct{ N int64 }
		err := decode(line, &row)
		j.progress.Of = row.N
		return err
	})
	if limit := int64(j.req.Limit); limit > 0 {
		j.progress.Of = min(j.progress.Of, limit)
	}
	return err
}

// each calls f with each row of a statement until f returns an error. If f returns io.EOF, each stops and returns
// nil. If the table does not exist, there are no rows.
func (j *Job) each(ctx context.Context, sql string, f func(line []byte) error) error {
	rows, err := j.backend.Rows(ctx, sql)
	if err != nil || rows == nil {
		return err
	}
	defer rows.Close()
	in := bufio.NewReaderSize(rows, 64<<10)
	for {
		line, err := in.ReadBytes('\n') // a record is no longer than the body that contained it
		if len(bytes.TrimSpace(line)) > 0 {
			if err := f(line); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the kept records: %w", err)
		}
	}
}

// add puts a record into the chunk.
func (j *Job) add(ctx context.Context, r *Reject) error {
	id := j.ids.Of(r)
	if j.asked != nil && !j.asked[id] {
		return nil
	}
	if r.Kind == pipeline.SkipPermission.String() && j.req.Kind == "" && j.asked == nil {
		j.progress.Forbidden++
		j.progress.Done++
		return nil
	}
	j.taken++
	to := Destination{DB: r.DB, Table: r.Table, Pipeline: r.Pipeline, Format: r.Format, TimeIndex: text(r.TimeIndex)}
	for _, o := range []struct {
		field *string
		value string
	}{{&to.Pipeline, j.req.ToPipeline}, {&to.DB, j.req.ToDB}, {&to.Table, j.req.ToTable}} {
		if o.value != "" {
			*o.field = o.value
		}
	}
	line := r.line()
	switch {
	case len(bytes.TrimSpace(line)) == 0:
		j.fail("the record is empty", 1)
		return nil
	case to.Pipeline == "" && ProtocolPath(to.Format) == "":
		j.fail(errNoPipeline.Error(), 1)
		return nil
	}
	onReject := j.req.OnReject
	if onReject == "" {
		onReject = "drop"
	}
	// The key contains neither the destination nor the pipeline, so that a table recognises the record whichever
	// pipeline sends it.
	j.chunk = append(j.chunk, Record{
		ID: id, Key: "replay-" + id + j.nonce, To: to, Line: append(line, '\n'), OnReject: onReject,
	})
	j.bytes += len(line)
	if len(j.chunk) == chunkRecords || j.bytes >= chunkBytes {
		return j.send(ctx)
	}
	return nil
}

// send sends the chunk, except records that another request has stored meanwhile.
func (j *Job) send(ctx context.Context) error {
	if len(j.chunk) == 0 {
		return nil
	}
	chunk := j.chunk
	j.chunk, j.bytes = nil, 0
	if !j.req.Again {
		var err error
		if chunk, err = j.leaveOut(ctx, chunk); err != nil {
			return err
		}
	}
	act := j.store
	if j.req.DryRun {
		act = j.try
	}
	err := act(ctx, chunk)
	if j.tell != nil {
		j.tell(j.progress)
	}
	return err
}

// leaveOut returns the records without a note. They are not stored yet.
func (j *Job) leaveOut(ctx context.Context, chunk []Record) ([]Record, error) {
	ids, done := make([]string, len(chunk)), map[string]bool{}
	for i := range chunk {
		ids[i] = rights.QuoteText(chunk[i].ID)
	}
	sql := "SELECT id FROM svc_private.replayed WHERE id IN (" + strings.Join(ids, ", ") + ")"
	err := j.each(ctx, sql, func(line []byte) error {
		var row struct{ ID string }
		err := decode(line, &row)
		done[row.ID] = true
		return err
	})
	all := len(chunk)
	chunk = slices.DeleteFunc(chunk, func(r Record) bool { return done[r.ID] })
	j.progress.Before += int64(all - len(chunk))
	j.progress.Done += int64(all - len(chunk))
	return chunk, err
}

// store stores records, several at a time.
func (j *Job) store(ctx context.Context, chunk []Record) error {
	outcomes := make([]*Outcome, len(chunk))
	requests, within := errgroup.WithContext(ctx)
	requests.SetLimit(parallel)
	for i := range chunk {
		r := &chunk[i]
		post := func() error {
			o, err := j.backend.Store(within, r)
			if err != nil {
				return fmt.Errorf("to table %s through %s: %w", r.To.Table, r.To.Pipeline, err)
			}
			outcomes[i] = &o
			return nil
		}
		if j.started[r.To] {
			requests.Go(post)
			continue
		}
		// The first record is sent alone, because it may create the table and its columns.
		j.started[r.To] = true
		if err := post(); err != nil {
			requests.Go(func() error { return err })
			break
		}
	}
	err := requests.Wait()
	for _, o := range outcomes {
		switch {
		case o == nil:
		case o.Failed != "":
			j.fail(o.Failed, 1)
		default:
			j.progress.Done++
			j.progress.Stored++
			j.progress.Rows += o.Rows
		}
	}
	return err
}

// try counts the records that would be stored.
func (j *Job) try(ctx context.Context, chunk []Record) error {
	for len(chunk) > 0 {
		to, n := chunk[0].To, 1
		for n < len(chunk) && n < tryRecords && chunk[n].To == to {
			n++
		}
		if ProtocolPath(to.Format) != "" {
			j.progress.Untried += int64(n)
			j.progress.Done += int64(n)
			chunk = chunk[n:]
			continue
		}
		var lines []byte
		for _, r := range chunk[:n] {
			lines = append(lines, r.Line...)
		}
		failed, reasons, err := j.backend.Try(ctx, to, lines)
		if err != nil {
			return fmt.Errorf("try table %s through %s: %w", to.Table, to.Pipeline, err)
		}
		j.progress.Stored += int64(n) - failed
		j.progress.Done += int64(n) - failed
		for _, reason := range reasons {
			j.fail(reason, 1)
		}
		if rest := failed - int64(len(reasons)); rest > 0 {
			j.progress.Failed += rest
			j.progress.Done += rest
		}
		chunk = chunk[n:]
	}
	return nil
}

// fail counts records that failed.
func (j *Job) fail(reason string, n int64) {
	j.progress.Done += n
	j.progress.Failed += n
	for i := range j.progress.Reasons {
		if j.progress.Reasons[i].Reason == reason {
			j.progress.Reasons[i].Count += n
			return
		}
	}
	if len(j.progress.Reasons) < MaxReasons {
		j.progress.Reasons = append(j.progress.Reasons, Reason{reason, n})
	}
}
