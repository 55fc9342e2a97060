package duck

import (
	"context"
	"strings"
	"time"
	"unsafe"

	"cordwood/shard/query/engine/sql"

	duckdb "github.com/duckdb/duckdb-go-bindings"
)

/*
#include "duckdb_api.h"
*/
import "C"

// interruptEvery is how often a running query is interrupted once its context has ended: the
// engine forgets an interrupt that comes between two of its steps.
const interruptEvery = 10 * time.Millisecond

// Watch interrupts the session when the context ends, again and again until the
// returned function is called, which waits for the watching to end.
func (s *Session) Watch(ctx context.Context) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-ctx.Done():
		case <-done:
			return
		}
		tick := time.NewTicker(interruptEvery)
		defer tick.Stop()
		for {
			s.interrupt()
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// Answer is how the rows of a statement are sent.
type Answer struct {
	// Limit is how many rows are sent at most; 0: all.
	Limit uint64
	// First are rows for EXPLAIN in front of the others: a key and a text each.
	First [][2]string
	// Clean, if not nil, returns what is sent in the place of a text.
	Clean func(text string) string
	// Emit takes the pieces of the Arrow IPC stream.
	Emit func(ipc []byte) error
	// Rows counts the rows that were fetched.
	Rows *uint64
}

// Prepare prepares a statement whose columns are of types that clients can read.
func Prepare(s *Session, text string) (*Prepared, error) {
	p, err := prepare(s, text)
	if err != nil {
		return nil, err
	}
	text = p.readable()
	if text == "" {
		return p, nil
	}
	defer p.Close()
	// The second statement has the same columns, as text where needed.
	again, err := prepare(s, text)
	if err != nil {
		return nil, err
	}
	again.Names = p.Names
	again.sentAsText = make([]string, len(p.types))
	for i, t := range p.types {
		if asText(t, 0) {
			again.sentAsText[i] = typeName(t)
		}
	}
	return again, nil
}

// Run runs the statement and sends its rows.
func (p *Prepared) Run(ctx context.Context, a *Answer) error {
	var first duckdb.DataChunk
	if len(a.First) > 0 {
		var err error
		if first, err = p.session.explained(a.First); err != nil {
			return err
		}
		defer duckdb.DestroyDataChunk(&first)
	}
	var handle C.duckdb_handle
	state := C.duckdb_pending_prepared_streaming(C.duckdb_handle(p.stmt.Ptr), &handle)
	pending := duckdb.PendingResult{Ptr: unsafe.Pointer(handle)}
	defer duckdb.DestroyPending(&pending)
	if state != 0 {
		return EngineError(duckdb.PendingError(pending), duckdb.ErrorTypeInvalid)
	}
	work(pending)
	var res duckdb.Result
	defer duckdb.DestroyResult(&res)
	if duckdb.ExecutePending(pending, &res) == duckdb.StateError {
		return EngineError(duckdb.ResultError(&res), duckdb.ResultErrorType(&res))
	}
	out, err := newStream(p, &res, a.Emit)
	if err != nil {
		return err
	}
	defer out.release()
	if first.Ptr != nil {
		if err := out.write(first, int64(len(a.First))); err != nil {
			return err
		}
	}
	return a.fetch(ctx, &res, out)
}

const (
	// firstPause and longestPause are how long work waits for tasks, first and at most.
	firstPause   = 20 * time.Microsecond
	longestPause = 200 * time.Microsecond
)

// work takes part in a statement until it has a result or an error. Left to itself the engine asks for tasks again
// and again while its other threads are busy with the last ones: on a machine with more threads than cores it
// takes their time.
func work(pending duckdb.PendingResult) {
	pause := firstPause
	for {
		switch duckdb.PendingExecuteTask(pending) {
		case duckdb.PendingStateNoTasksAvailable:
			time.Sleep(pause)
			pause = min(2*pause, longestPause)
		case duckdb.PendingStateResultNotReady:
			pause = firstPause
		default:
			return
		}
	}
}

// fetch sends the rows of a result.
func (a *Answer) fetch(ctx context.Context, res *duckdb.Result, out *stream) error {
	left := a.Limit
	for a.Limit == 0 || left > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		chunk := duckdb.FetchChunk(*res)
		if chunk.Ptr == nil {
			if msg := duckdb.ResultError(res); msg != "" {
				return EngineError(msg, duckdb.ResultErrorType(res))
			}
			break
		}
		rows := uint64(duckdb.DataChunkGetSize(chunk))
		if rows == 0 {
			duckdb.DestroyDataChunk(&chunk)
			break
		}
		take := rows
		if a.Limit > 0 {
			take = min(rows, left)
			left -= take
		}
		*a.Rows += take
		if a.Clean != nil {
			replaceTexts(chunk, a.Clean)
		}
		err := out.write(chunk, int64(take))
		duckdb.DestroyDataChunk(&chunk)
		if err != nil {
			return err
		}
	}
	return out.finish()
}

// replaceTexts puts what f returns in the place of the texts of a chunk.
func replaceTexts(chunk duckdb.DataChunk, f func(text string) string) {
	for c := range duckdb.DataChunkGetColumnCount(chunk) {
		vector := duckdb.DataChunkGetVector(chunk, c)
		kind := duckdb.VectorGetColumnType(vector)
		isText := duckdb.GetTypeId(kind) == duckdb.TypeVarchar
		duckdb.DestroyLogicalType(&kind)
		if !isText {
			continue
		}
		cells := unsafe.Slice((*duckdb.StringT)(duckdb.VectorGetData(vector)), duckdb.DataChunkGetSize(chunk))
		for i := range cells {
			text := duckdb.StringTData(&cells[i])
			if clean := f(text); clean != text {
				duckdb.VectorAssignStringElement(vector, duckdb.IdxT(i), clean)
			}
		}
	}
}

// explained returns a chunk with rows for EXPLAIN.
func (s *Session) explained(rows [][2]string) (duckdb.DataChunk, error) {
	var res duckdb.Result
	defer duckdb.DestroyResult(&res)
	values := make([]string, len(rows))
	for i, row := range rows {
		values[i] = "(" + sql.QuoteText(row[0]) + ", " + sql.QuoteText(row[1]) + ")"
	}
	text := "SELECT * FROM (VALUES " + strings.Join(values, ", ") + ") AS t(explain_key, explain_value)"
	if duckdb.Query(s.conn, text, &res) == duckdb.StateError {
		return duckdb.DataChunk{}, EngineError(duckdb.ResultError(&res), duckdb.ResultErrorType(&res))
	}
	return duckdb.FetchChunk(res), nil
}
