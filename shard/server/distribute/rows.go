package distribute

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"cordwood/proto/errs"
)

// passOn sends the rows of the nodes, one node after the other.
func (d *Statement) passOn(ctx context.Context) (done bool, err error) {
	out := &joined{send: d.send}
	d.progress.Enter(PhaseAsk)
	d.progress.Asks(len(d.parts))
	if err := d.sendMissing(); err != nil {
		return true, err
	}
	for _, p := range d.parts {
		err := d.passPart(ctx, p, out)
		d.progress.Answered()
		if err != nil && !d.sent && len(d.missing) == 0 {
			return d.fetchInstead(ctx, err)
		}
		if err != nil {
			return true, err
		}
	}
	return true, out.end()
}

// passPart appends the rows of a part. If the node goes away before any of them was sent, it asks again, perhaps
// another replica.
func (d *Statement) passPart(ctx context.Context, p *part, out *joined) error {
	for try := 1; ; try++ {
		before := out.position()
		begin := time.Now()
		r, err := d.open(ctx, p)
		if err != nil {
			return err
		}
		from := &countedReader{Reader: r, of: d}
		err = out.add(from, d.req.Limit)
		_ = r.Close()
		p.answeredBy(r)
		p.passed, p.bytes, p.took = true, from.n, time.Since(begin)
		p.rows = int64(out.rows - before.rows) //nolint:gosec // a node has fewer rows
		if err == nil || try == Tries || ctx.Err() != nil || !Away(err) || !out.back(before) {
			return err
		}
	}
}

// countedReader counts the bytes that a node returns.
type countedReader struct {
	Reader
	of *Statement
	n  int
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.of.nodes.metrics.bytes.Add(float64(n))
	c.of.progress.Received(n)
	c.n += n
	return n, err
}

// flushBytes is how many bytes joined sends at a time.
const flushBytes = 1 << 20

// joined combines several Arrow IPC streams with the same columns into one.
type joined struct {
	send   func([]byte) error
	buf    bytes.Buffer
	writer *ipc.Writer
	rows   uint64
	sent   int // how many times rows were sent
}

// position is a place between the rows of two parts.
type position struct {
	bytes, sent int
	rows        uint64
	begun       bool
}

func (j *joined) position() position {
	return position{bytes: j.buf.Len(), sent: j.sent, rows: j.rows, begun: j.writer != nil}
}

// back removes all rows behind a position. It returns false if some of them were sent.
func (j *joined) back(to position) bool {
	if j.sent != to.sent {
		return false
	}
	j.buf.Truncate(to.bytes)
	j.rows = to.rows
	if !to.begun {
		j.writer = nil
	}
	return true
}

// add appends the rows of r's streams until there are limit rows in total; 0 means all.
func (j *joined) add(r io.Reader, limit uint64) error {
	src := &Remembering{R: r}
	in := bufio.NewReader(src)
	for first := true; ; first = false {
		if _, err := in.Peek(1); errors.Is(err, io.EOF) && !first {
			return nil
		}
		if err := j.addStream(src, in, limit); err != nil || limit > 0 && j.rows >= limit {
			return err
		}
	}
}

// addStream appends the rows of one stream.
func (j *joined) addStream(src *Remembering, r io.Reader, limit uint64) error {
	in, err := ipc.NewReader(r)
	if src.Err != nil {
		return src.Err // the error of the IPC reader is less exact
	}
	if err != nil {
		return errs.Wrap(errs.Internal, err, "query: read the rows of a node")
	}
	defer in.Release()
	if j.writer == nil {
		j.writer = ipc.NewWriter(&j.buf, ipc.WithSchema(in.Schema()))
	}
	for in.Next() {
		rec := in.RecordBatch()
		if left := limit - j.rows; limit > 0 && uint64(rec.NumRows()) > left {
			rec = rec.NewSlice(0, int64(left))
			defer rec.Release()
		}
		j.rows += uint64(rec.NumRows())
		if err := j.writer.Write(rec); err != nil {
			return errs.Wrap(errs.Internal, err, "query: read the rows of a node")
		}
		if j.buf.Len() >= flushBytes {
			if err := j.flush(); err != nil {
				return err
			}
		}
		if limit > 0 && j.rows >= limit {
			return nil
		}
	}
	if src.Err != nil {
		return src.Err
	}
	if err := in.Err(); err != nil {
		return errs.Wrap(errs.Internal, err, "query: read the rows of a node")
	}
	return nil
}

func (j *joined) flush() error {
	j.sent++
	err := j.send(j.buf.Bytes())
	j.buf.Reset()
	return err
}

// end ends the stream.
func (j *joined) end() error {
	if j.writer == nil {
		return errs.New(errs.Internal, "query: no node was asked for rows")
	}
	if err := j.writer.Close(); err != nil {
		return errs.Wrap(errs.Internal, err, "query: write the end of the rows")
	}
	return j.flush()
}
