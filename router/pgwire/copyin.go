package pgwire

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pgwire/value"
	"cordwood/router/pgwire/wire"
	"cordwood/router/query/statement"
)

// The maximum size of a batch of COPY FROM in rows and in bytes, and of a row in bytes.
const (
	copyBatchRows  = 10_000
	copyBatchBytes = 4 << 20
	maxCopyRow     = 16 << 20
)

// storedType returns the type of a column of a table.
func storedType(t schema.Type) *value.Type {
	switch {
	case t == schema.Boolean:
		return value.Bool
	case t == schema.Int8, t == schema.Uint8, t == schema.Int16:
		return value.Int2
	case t == schema.Uint16, t == schema.Int32:
		return value.Int4
	case t == schema.Uint32, t == schema.Int64:
		return value.Int8
	case t == schema.Uint64:
		return value.Numeric
	case t == schema.Float32:
		return value.Float4
	case t == schema.Float64:
		return value.Float8
	case t == schema.Binary:
		return value.Bytea
	case t == schema.JSON:
		return value.JSON
	case t.IsTimestamp():
		return value.TimestampTZ
	}
	return value.Text
}

// copyIn stores rows that the client sends.
type copyIn struct {
	f     *copyFormat
	table statement.Name
	names []string
	types []*value.Type

	data    []byte // received, but not parsed yet
	wait    int    // the size of data at which it is parsed again, since its first row was incomplete
	read    bool   // the binary header, or the line with names, was read
	line    int64
	rows    [][]statement.Literal
	bytes   int
	stored  int64
	first   int64 // the line of the first row of the batch
	storing bool  // the batch is being stored
	endMark bool
	memory  holding
	// since is when memory was first taken for rows that are not stored; it is zero if there is none.
	since time.Time
	// canceled is done when a request to cancel came while the rows of the client were awaited.
	canceled context.Context //nolint:containedctx // it lives as long as the COPY
	cancel   context.CancelCauseFunc
}

// copyFrom starts COPY … FROM STDIN.
func (e *executor) copyFrom(src copied, f *copyFormat) (*outcome, error) {
	if err := e.session.mayWrite("COPY FROM"); err != nil {
		return nil, err
	}
	// Each INSERT is checked, too, but the client should not send its rows before it is refused.
	t, err := e.runner.target(src.table)
	if err != nil {
		return nil, asError(err, nil)
	}
	in := &copyIn{f: f, table: src.table, names: src.columns}
	in.memory.database = t.Database
	if len(in.names) == 0 {
		for _, col := range t.Columns {
			in.names = append(in.names, col.Name)
		}
	}
	for _, name := range in.names {
		col := t.Column(name)
		if col == nil {
			return nil, failure("42703", "column %q of relation %q does not exist", excerpt(name), src.table.Table)
		}
		in.types = append(in.types, storedType(col.Type))
	}
	return &outcome{tag: "COPY %d", copyIn: in}, nil
}

// receive reads rows until the client is done.
func (in *copyIn) receive(e *executor) error {
	codes := make([]uint16, len(in.names))
	for i := range codes {
		codes[i] = uint16(in.f.code())
	}
	e.say.send(&pgproto3.CopyInResponse{OverallFormat: byte(in.f.code()), ColumnFormatCodes: codes})
	if err := e.link.out.Flush(); err != nil {
		return errGone
	}
	in.memory.cfg, in.memory.parked = e.link.cfg, e.parked
	defer in.memory.release()
	in.canceled, in.cancel = context.WithCancelCause(context.Background())
	defer in.cancel(nil)
	e.link.setCancel(in.cancel)
	defer e.link.setCancel(nil)
	for {
		left := time.Duration(0)
		if !in.since.IsZero() {
			left = max(time.Until(in.since.Add(e.link.cfg.StallTime)), 1)
		}
		kind, body, err := e.link.nextWithin(left)
		if cause := context.Cause(in.canceled); cause != nil && (err == nil || errors.Is(err, errIdle)) {
			return in.failed(asError(context.Canceled, cause))
		}
		if errors.Is(err, errIdle) || err == nil && left == 1 {
			if err := in.late(e); err != nil {
				return in.failed(err)
			}
		}
		if errors.Is(err, errIdle) {
			continue
		}
		if err != nil {
			return in.ended(err)
		}
		switch kind {
		case 'd':
			if err := in.reserve(e, len(body)); err != nil {
				return in.failed(err)
			}
			in.data = append(in.data, body...)
			if err := in.take(e, false); err != nil {
				return in.failed(err)
			}
		case 'c':
			if err := in.take(e, true); err != nil {
				return in.failed(err)
			}
			e.say.complete("COPY %d", in.stored)
			return nil
		case 'f':
			return in.failed(failure("57014", "COPY from stdin failed: %s",
				excerpt(strings.TrimSuffix(string(body), "\x00"))))
		case 'H', 'S':
		default:
			return in.failed(fatal("08P01", "unexpected message type %q during COPY from stdin", kind))
		}
	}
}

// reserve takes memory for n more bytes. If there is none, it stores the rows that it has.
func (in *copyIn) reserve(e *executor, n int) error {
	err := in.memory.grow(len(in.data) + n + 3*in.bytes)
	if err != nil && len(in.rows) > 0 {
		if err := in.store(e); err != nil {
			return err
		}
		err = in.memory.grow(len(in.data) + n)
	}
	if err == nil && in.memory.body != nil && in.since.IsZero() {
		in.since = time.Now()
	}
	return err
}

// late stores the rows that have taken memory for the time in which a client has to make progress. It fails if there is
// no complete row.
func (in *copyIn) late(e *executor) error {
	if len(in.rows) > 0 {
		return in.store(e)
	}
	return failure("57014", "canceling COPY, because %d bytes of a row that is not complete have waited for %s",
		len(in.data), e.link.cfg.StallTime).withHint("send a row at once")
}

// ended returns the error that ends the connection: no message can follow a read error.
func (in *copyIn) ended(err error) error {
	var own *Error
	var bad wire.ProtocolError
	switch {
	case errors.As(err, &bad):
		return fatal("08P01", "%s", bad)
	case errors.As(err, &own):
		e := *own
		e.Severity = "FATAL"
		e.Detail = strings.TrimPrefix(e.Detail+"; rows stored before: "+itoa(in.stored), "; ")
		return &e
	}
	return errGone
}

// failed adds the number of the bad row, and of the rows stored before it, to an error.
func (in *copyIn) failed(err error) error {
	if errors.Is(err, errGone) {
		return err
	}
	e := *asError(err, nil)
	e.Where = "COPY " + in.table.Table + ", line " + itoa(in.line)
	if in.storing {
		// More lines were read than the bad one, and the message counts the rows of the batch.
		e.Where = "COPY " + in.table.Table + ", row 1 is line " + itoa(in.first)
	}
	e.Detail = strings.TrimPrefix(e.Detail+"; rows stored before: "+itoa(in.stored), "; ")
	return &e
}

// take parses the complete rows, and stores full batches.
//
// Parsing starts at the first byte of a row. After an incomplete row, data must grow by half before it is parsed again,
// so that a row in many messages takes linear time.
func (in *copyIn) take(e *executor, last bool) error {
	if !last && len(in.data) < in.wait {
		return nil
	}
	for !in.endMark {
		row, used, err := in.next(last)
		if err != nil {
			return err
		}
		if used == 0 {
			break
		}
		in.data = in.data[used:]
		if row == nil {
			continue
		}
		if len(in.rows) == 0 {
			in.first = in.line
		}
		in.rows = append(in.rows, row)
		for _, v := range row {
			in.bytes += len(v.Text) + 16
		}
		if len(in.rows) >= copyBatchRows || in.bytes >= copyBatchBytes {
			if err := in.store(e); err != nil {
				return err
			}
		}
	}
	if in.endMark {
		in.data = nil
	}
	in.wait = min(len(in.data)+len(in.data)/2, maxCopyRow+1)
	if len(in.data) > maxCopyRow {
		return failure("22P04", "a row has more than %d bytes", maxCopyRow)
	}
	if !last {
		return nil
	}
	if len(in.data) > 0 {
		return failure("22P04", "unexpected end of the data within a row")
	}
	return in.store(e)
}

// store stores the rows of a batch with an INSERT.
func (in *copyIn) store(e *executor) error {
	if len(in.rows) == 0 {
		return nil
	}
	e.session.stored, in.storing = true, true
	req := e.runner.request()
	req.Statements = []statement.Statement{&statement.Insert{Name: in.table, Columns: in.names, Values: in.rows}}
	req.Texts = []string{"COPY " + in.table.Table + " FROM STDIN"}
	x := e.runner.execute(req)
	res, _ := e.runner.result(x)
	e.link.setCancel(in.cancel) // from here on, a request to cancel comes too late for this batch
	err, cause := x.end()
	e.runner.clearCurrent(in.cancel)
	if err != nil {
		told := asError(err, cause)
		if errs.CodeOf(err) == errs.InvalidArguments {
			told.State = "22P04"
		}
		return told
	}
	e.say.warnings(res.Warnings)
	in.stored += res.AffectedRows
	if cause != nil { // the rows were stored nevertheless
		in.cancel(cause)
	}
	in.rows, in.bytes, in.storing = nil, 0, false
	in.memory.release()
	in.since = time.Time{}
	return nil
}
