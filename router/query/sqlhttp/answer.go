package sqlhttp

import (
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/router/query/format"
)

const (
	// flushEvery is how long rows are buffered to be sent together.
	flushEvery = 100 * time.Millisecond
	// writeWait is how long a client may take for one piece of an answer that is complete.
	writeWait = time.Minute
)

// answer writes an answer to the client. It sends the headers with the first byte.
type answer struct {
	h      *Handler
	w      http.ResponseWriter
	rc     *http.ResponseController
	start  time.Time
	format format.Format
	// filename is the name of the file in which a browser saves the answer; empty means that the browser shows the
	// answer.
	filename string
	// structured: the request is a structured query.
	structured bool
	// until is when the answer must have been sent; zero means writeWait for every piece.
	until   time.Time
	started bool
	flushed time.Time
}

// begin sends the headers, once.
func (a *answer) begin() {
	if a.started {
		return
	}
	a.started, a.flushed = true, time.Now()
	h := a.w.Header()
	h.Set("Content-Type", a.format.ContentType())
	h.Set("x-svc-format", a.format.String())
	a.setFilename()
	h.Set("x-svc-execution-time", strconv.FormatInt(time.Since(a.start).Milliseconds(), 10))
	a.w.WriteHeader(http.StatusOK)
}

// setFilename makes a browser save the answer in a file.
func (a *answer) setFilename() {
	if a.filename != "" {
		a.w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.filename}))
	}
}

// deadline limits the time of the following writes; zero removes the limit. Some connections have no deadlines,
// and nothing can replace them.
func (a *answer) deadline(t time.Time) { _ = a.rc.SetWriteDeadline(t) }

// Write implements io.Writer.
func (a *answer) Write(p []byte) (int, error) {
	a.begin()
	if a.until.IsZero() {
		a.deadline(time.Now().Add(writeWait))
	} else {
		a.deadline(a.until)
	}
	return a.w.Write(p)
}

// Flush implements format.Flusher. It sends the rows if enough time has passed.
func (a *answer) Flush() error {
	if !a.started || time.Since(a.flushed) < flushEvery {
		return nil
	}
	a.flushed = time.Now()
	return a.rc.Flush()
}

// affectedRows returns the single row for a statement without rows, for formats that only have rows.
func affectedRows(n int64) format.Rows {
	s := arrow.NewSchema([]arrow.Field{{Name: "affectedrows", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.Append(n)
	r, err := array.NewRecordReader(s, []arrow.RecordBatch{array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, 1)})
	if err != nil {
		panic(err) // only if the batch had another schema
	}
	return r
}
