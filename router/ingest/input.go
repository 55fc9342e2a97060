package ingest

import (
	"bytes"
	"context"
	"errors"
	"unicode/utf8"

	"cordwood/proto/errs"
	"cordwood/router/ingest/native"
	"cordwood/router/pipeline"
	"cordwood/router/vrl/jsonscan"
	"cordwood/router/vrl/value"
)

// Input is the source of the records of a batch: a Body, Records or Columns. It may be read more than once, and
// must give the same records each time.
type Input interface {
	// open prepares a run for the batch of j.
	open(ctx context.Context, j *job) (run, error)
	// format is the format of records in the rejects: json or text.
	format() string
}

// run is one run over an Input.
type run interface {
	// fill reads all records.
	fill() error
	// Finish and Release are those of pipeline.Runner.
	Finish() (*pipeline.Output, error)
	Release()
}

// runner returns the runner of the pipeline of the batch. If rejects are kept, it also collects them.
func (j *job) runner(ctx context.Context) (pipeline.Runner, error) {
	q := &j.request
	if j.kept != nil {
		q.OnSkip, j.opt.OnRefuse = both(q.OnSkip, j.kept.onSkip), j.kept.onRefuse
		q.WholeRecords = true // a record that is kept is sent again as a whole
	}
	if j.b.Replayed != nil {
		j.b.Replayed.watch(q, j.kept != nil)
	}
	var lookup pipeline.Lookup
	if j.b.compiled != nil {
		lookup = j.s.lookup(ctx, j.q.Caller)
	}
	runner, err := Runner(j.b.compiled, q, lookup)
	if err != nil {
		return nil, err
	}
	if j.kept != nil {
		j.kept.Runner, runner = runner, j.kept
	}
	return runner, nil
}

// Body is a body in a format that package native reads. Package body defines what follows Data in memory.
type Body struct {
	Data []byte
	Kind native.Kind
}

// bodyRun is one run over a Body.
type bodyRun struct {
	pipeline.Runner
	j    *job
	body Body
}

func (i Body) open(ctx context.Context, j *job) (run, error) {
	runner, err := j.runner(ctx)
	if err != nil {
		return nil, err
	}
	j.bodyRun = bodyRun{runner, j, i}
	return &j.bodyRun, nil
}

func (r *bodyRun) fill() error { return native.Read(r.body.Data, r.body.Kind, r.j.opt, r.Runner) }

func (i Body) format() string {
	if i.Kind == native.Text {
		return "text"
	}
	return "json"
}

// Records passes the records of a batch to a Sink, one after another. It returns the first error of the Sink's
// methods.
type Records func(to *Sink) error

// recordRun is one run over Records.
type recordRun struct {
	pipeline.Runner
	j    *job
	from Records
}

func (i Records) open(ctx context.Context, j *job) (run, error) {
	runner, err := j.runner(ctx)
	if err != nil {
		return nil, err
	}
	return recordRun{runner, j, i}, nil
}

func (r recordRun) fill() error { return r.from(&Sink{run: r.Runner, batch: r.j.b, opt: r.j.opt}) }

func (i Records) format() string { return "json" }

// Sink receives the records of a batch. An error from its methods ends the batch. If Batch.SkipError is set, a
// record that fails returns no error. The records are numbered from 0 in the order of the calls, including refused
// ones. Outcome.Reasons and Outcome.Refused use these numbers.
type Sink struct {
	run   pipeline.Runner
	batch *Batch
	opt   native.Options

	repeated int // bytes that Repeat counted
}

// At sets the time of the following records, in nanoseconds since 1970. They are stored with that time, unless
// their pipeline or custom_time_index sets another.
func (s *Sink) At(nanos int64) { s.run.At(nanos) }

// Repeat counts n bytes of the next record that other records of the request have too, such as a parameter of the
// request that becomes a field of each record. It returns an error for the client when all of them are over a limit.
// Without it, a small body of many short records could become any number of bytes.
func (s *Sink) Repeat(n int) error {
	s.repeated += n
	return pipeline.CheckRepeated(s.repeated)
}

var errNotUTF8 = errs.New(errs.InvalidArguments, "the record is not valid UTF-8")

// JSON receives a record as JSON text, with nothing but white space around it. If a newline or body.Pad zeros follow
// doc in its capacity, it is read in place. Otherwise it is copied. If it is not JSON, the record fails.
func (s *Sink) JSON(doc []byte) error {
	if !utf8.Valid(doc) {
		return s.malformed(doc, errNotUTF8)
	}
	err := s.run.ScanLine(doc)
	if err == nil {
		return nil // errors.As would allocate for each record
	}
	if e := (*jsonscan.Error)(nil); errors.As(err, &e) {
		return s.malformed(doc, errs.New(errs.InvalidArguments, "the record is not valid JSON: %s at column %d",
			e.Message(), e.Offset+1))
	}
	return err
}

// JSONAt receives the JSON value at or after data[pos] and returns the position after it. data must be valid UTF-8,
// followed by body.Pad zeros in its capacity. A *jsonscan.Error means that the text is malformed. Then no record
// was counted, and the caller must find the next record.
func (s *Sink) JSONAt(data []byte, pos int) (next int, err error) { return s.run.ScanRecord(data, pos) }

// Text receives a line as the record {"message": line}. Bytes that are not UTF-8 become U+FFFD.
func (s *Sink) Text(line []byte) error {
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\ufffd"))
		if s.opt.OnRepair != nil {
			s.opt.OnRepair()
		}
	}
	return s.run.TextRecord(line)
}

// Record receives a decoded record: an object whose keys are sorted (value.Fields.Sort). size is its approximate
// length in the request. Its keys and texts must not change before Store returns.
func (s *Sink) Record(v value.Value, size int) error { return s.run.Record(v, size) }

// Refuse receives a record that the receiver could not decode because of err. text is the original record, for the
// rejects. It may be anything.
func (s *Sink) Refuse(text []byte, err error) error { return s.malformed(text, err) }

func (s *Sink) malformed(text []byte, err error) error {
	err = pipeline.WithKind(pipeline.SkipParse, err)
	if !s.batch.SkipError {
		return err
	}
	if s.opt.OnRefuse != nil {
		s.opt.OnRefuse(text)
	}
	s.run.Refuse(err)
	return nil
}
