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

// interruptEvery is the time between two interrupts of a running query whose context has ended. One
// interrupt is not enough: DuckDB drops an interrupt that arrives between two of its steps.
const interruptEvery = 10 * time.Millisecond

// Watch interrupts the session repeatedly once the context has ended, until the returned function
// is called. That function waits until the watching goroutine has ended.
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

// Answer describes how the rows of a statement are sent.
type Answer struct {
	// Limit is the maximum number of rows sent; 0 means all.
	Limit uint64
	// First are rows of EXPLAIN that come before the others: each is a key and a text.
	First [][2]string
	// Clean, if not nil, returns the text that is sent in place of a text of the answer.
	Clean func(text string) string
	// Emit receives the pieces of the Arrow IPC stream.
	Emit func(ipc []byte) error
	// Chunk, if not nil, is told the size of each chunk of rows before its rows are sent.
	Chunk func(bytes uint64)
	// Rows counts the rows that were fetched.
	Rows *uint64
}

// Prepare prepares a statement. Columns of types that clients cannot read are cast to text.
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
	// The second statement has the same columns, cast to text where needed.
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
	out, err := newStream(p, &res, a)
	if err != nil {
		return err
	}
	defer out.release()
	if first.Ptr != nil {
		if err := out.write(&first, int64(len(a.First))); err != nil {
			return err
		}
	}
	return a.fetch(ctx, &res, out)
}

const (
	// firstPause and longestPause are the first and the longest time that work waits for tasks.
	firstPause   = 20 * time.Microsecond
	longestPause = 200 * time.Microsecond
)

// work executes tasks of a statement until it has a result or an error. DuckDB itself would poll
// for tasks while its other threads finish the last ones. On a machine with more threads than
// cores, this polling takes CPU time from those threads.
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
		if err := out.write(&chunk, int64(take)); err != nil {
			return err
		}
	}
	return out.finish()
}

// replaceTexts replaces each text of a chunk by the text that f returns for it.
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

// explained returns a chunk with the rows for EXPLAIN.
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
