package pipeline

import (
	"errors"
	"sync"
	"unsafe"

	"cordwood/proto/errs"
	"cordwood/router/pipeline/processor"
	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
)

// Lookup finds the pipeline that a dispatcher names; version "" is the latest. Its error
// fails the request. It is never asked for svc_identity.
type Lookup func(name, version string) (*Pipeline, error)

// runner is the Runner of a pipeline. Records that are dispatched go through a runner of
// their own, below it.
type runner struct {
	sink

	p      *Pipeline
	name   string
	lookup Lookup

	over     *runner   // nil: it takes the request's records
	depth    int       // of dispatches that lead here
	branched int       // branches of all runners, in the one on top
	branches []*runner // by rule of the dispatcher
	trace    *tracer

	work  *fn.Meter // of the runner on top
	meter fn.Meter
	json  reader
	rec   *processor.Record
	conv  converter
	cells []cell
	vars  variables
	auto  cell
	flat  flattening
	last  *dest       // that got a record
	seen  *seenFields // nil unless Request.TellAbsent
	marks []mark

	suffix []byte
}

// mark is where a table ended before the record under way.
type mark struct {
	d    *dest
	rows int
}

// maxDispatches bounds the pipelines that a record may go through.
const maxDispatches = 16

// maxBranches bounds the pipelines and suffixes that one request's records go through.
const maxBranches = 1000

// runners keeps the memory of runners for the next request, by pipeline.
type runners struct{ pool sync.Pool }

// NewRunner returns a Runner that takes a request's records through p; nil is
// svc_identity. lookup may be nil if p dispatches nothing. Request.TimeIndex concerns
// svc_identity only.
// The error, for a bad hint or table name, has code InvalidArguments.
func NewRunner(p *Pipeline, q *Request, lookup Lookup) (Runner, error) {
	if p == nil {
		p = identityPipeline
	}
	name := q.Pipeline
	if name == "" && p == identityPipeline {
		name = IdentityName
	}
	return newRunner(p, name, q, lookup, nil)
}

func newRunner(p *Pipeline, name string, q *Request, lookup Lookup, over *runner) (*runner, error) {
	r, _ := p.runners.pool.Get().(*runner)
	if r == nil {
		r = &runner{p: p, rec: processor.NewRecord(&p.names), cells: make([]cell, len(p.transform))}
		r.byKey = map[string]*dest{}
		r.json.rec = r.rec
	}
	if err := r.begin(q); err != nil {
		return nil, err
	}
	if !p.flatten || over != nil {
		r.req.TimeIndex = nil
	}
	r.name, r.lookup, r.over = name, lookup, over
	r.timeName, r.timeUnit = p.timeName, p.timeUnit
	if r.timeName == "" || p.timeAt < 0 && p.transform != nil {
		r.timeName = r.req.TimestampColumn
	}
	if ti := r.req.TimeIndex; ti != nil {
		r.timeName, r.timeUnit = ti.Field, ti.Unit
	}
	r.ownTime = !p.flatten
	r.listed, r.timePlace = p.columns, p.timePlace
	if over != nil {
		r.above, r.start, r.depth, r.trace, r.work = &over.sink, over.start, over.depth+1, over.trace, over.work
		r.ledger = over.ledger
		over.below = append(over.below, &r.sink)
	} else {
		r.work = &r.meter
		r.work.Start(r.req.Ended, r.req.Steps)
		if q.Trace != nil {
			r.trace = &tracer{}
		}
	}
	r.rec.Work = r.work
	if q.TellAbsent && p.transform != nil {
		r.seen = &seenFields{}
	}
	return r, nil
}

func (r *runner) ScanRecord(data []byte, pos int) (int, error) { return r.scan(data, pos, false) }

func (r *runner) ScanLine(line []byte) error {
	_, err := r.scan(line, 0, true)
	return err
}

func (r *runner) scan(data []byte, pos int, whole bool) (int, error) {
	t := r.json.begin(data)
	pos = t.Space(pos)
	var v value.Value
	var next int
	var err error
	isMap := t.Bytes()[pos] == '{'
	if isMap {
		v, next, err = r.json.object(pos, r.p.names.List())
	} else {
		next, err = t.Skip(pos, 0)
	}
	if err == nil && whole {
		if end := t.Space(next); end < t.Len() {
			err = t.Unexpected(end, "the end of the line")
		}
	}
	if err != nil {
		return pos, err
	}
	if !isMap {
		if r.trace != nil {
			r.trace.begin(r, data[pos:next])
			r.trace.end(r, errNotMap)
		}
		return next, r.refuse(errNotMap)
	}
	return next, r.take(v, data[pos:next], next-pos)
}

// TextRecord is the record {"message": line}.
func (r *runner) TextRecord(line []byte) error {
	o := r.json.own()
	o.Add("message", value.NewString(unsafe.String(unsafe.SliceData(line), len(line))))
	return r.take(o.Value(), nil, len(line))
}

// fatal is an error that fails the request, whatever is to be skipped.
type fatal struct{ error }

func (e *fatal) Unwrap() error { return e.error }

// What the work on a record may be: as much as a program may do on its own, and more for
// records that are long. Reading a record and storing its row takes some steps too.
const (
	stepsPerByte       = 100 // of the request
	recordStepsPerByte = 16
	recordSteps        = 100
	bytesPerStep       = 8
)

// admitWork begins the work on a record of size bytes. Its error ends the request.
func (r *runner) admitWork(size int) error {
	r.work.Grant(size * stepsPerByte)
	b := vrl.DefaultBudget
	b.Steps += size*recordStepsPerByte + recordSteps
	_ = r.work.Begin(b)
	r.work.Spend(recordSteps + size/bytesPerStep)
	if err := r.work.Err(); err != nil {
		return r.ended(err)
	}
	return nil
}

// take takes a record through the pipeline. text is its source, if it has one, and size
// the length of that.
func (r *runner) take(v value.Value, text []byte, size int) error {
	if err := r.admitWork(size); err != nil {
		return err
	}
	if r.trace != nil {
		if text == nil {
			text = value.AppendJSON(nil, v)
		}
		r.trace.begin(r, text)
	}
	before, lost := r.notes, r.lost
	err := r.admit(v)
	if err == nil {
		err = r.process(v)
	}
	if r.trace != nil {
		r.trace.end(r, err)
	}
	if err != nil {
		if f := (*fatal)(nil); errors.As(err, &f) {
			return f.error
		}
		r.notes, r.lost = before, lost
		return r.refuse(err)
	}
	r.notes.lone += r.json.lone
	r.notes.repeated += r.json.repeated
	r.notes.rounded += r.work.Rounded
	r.notes.vanished += r.json.vanished + r.work.Vanished
	r.notes.fractions += r.work.Fractions
	r.records++
	return nil
}

// admit refuses records with an integer that no value holds, and those with variables of their
// own if the request wants that.
func (r *runner) admit(v value.Value) error {
	if r.json.big != nil {
		return WithKind(SkipParse, r.json.big)
	}
	if !r.req.NoClientVariables {
		return nil
	}
	r.conv.text = r.conv.text[:0]
	if r.readVariables(v.Object()) {
		return r.vars.refused()
	}
	return nil
}

var (
	errSkippedProcessor = WithKind(SkipProcessor, errs.New(errs.InvalidArguments, "skipped"))
	errSkippedTransform = WithKind(SkipTransform, errs.New(errs.InvalidArguments, "skipped"))
)

// process takes a record through the processors and stores what comes out. After an
// error of the record nothing is left of it.
func (r *runner) process(v value.Value) error {
	rec := r.rec
	rec.Value, rec.Quiet = v, r.quiet()
	if r.trace != nil {
		r.trace.at = r
	}
	for i := range r.p.processors {
		step := &r.p.processors[i]
		if r.trace != nil {
			r.trace.before(rec.Value)
		}
		if err := step.Apply(rec); err != nil {
			if over := r.work.Err(); over != nil {
				return &fatal{r.ended(over)}
			}
			if rec.Quiet {
				return errSkippedProcessor
			}
			return &kindError{SkipProcessor, processor.Located(err, step.Name, i)}
		}
		if r.trace != nil {
			r.trace.after(r, stepName(i, step.Name), rec.Value)
		}
		if rec.Value.IsNull() {
			return nil
		}
	}
	if b, err := r.dispatch(rec); b != nil || err != nil {
		if err != nil {
			return err
		}
		b.records = r.records
		return b.process(rec.Value)
	}
	switch rec.Value.Kind() {
	case value.Object:
		d, err := r.store()
		if err != nil {
			return err
		}
		return d.endRecord()
	case value.Array:
		return r.storeMany(rec.Value)
	}
	return &kindError{SkipProcessor, errs.New(errs.InvalidArguments,
		"the result of the processors must be map, or a list of maps: %s", processor.Describe(rec.Value))}
}

// dispatch returns the runner of the pipeline that the record is to go to; nil if it
// stays here.
func (r *runner) dispatch(rec *processor.Record) (*runner, error) {
	d := r.p.dispatcher
	if d == nil {
		return nil, nil
	}
	v, ok := rec.Get(d.field)
	if !ok {
		return nil, nil
	}
	i := d.match(v)
	if i < 0 {
		return nil, nil
	}
	if r.trace != nil {
		r.trace.note(r, "dispatcher: to "+d.rules[i].pipeline)
	}
	if i < len(r.branches) && r.branches[i] != nil {
		return r.branches[i], nil
	}
	return r.branch(i)
}

// branch makes the runner for records of a rule.
func (r *runner) branch(i int) (*runner, error) {
	rule := &r.p.dispatcher.rules[i]
	if r.depth+1 > maxDispatches {
		path := rule.pipeline
		for up := r; up != nil; up = up.over {
			path = up.name + " → " + path
		}
		if len(path) > 300 {
			path = "… " + path[len(path)-300:]
		}
		return nil, &kindError{SkipOther, errs.New(errs.InvalidArguments, "dispatched more than %d times: %s", maxDispatches,
			path)}
	}
	top := r
	for top.over != nil {
		top = top.over
	}
	if top.branched++; top.branched > maxBranches {
		return nil, &fatal{errs.New(errs.InvalidArguments, "records of one request are dispatched in more than %d ways",
			maxBranches)}
	}
	p := identityPipeline
	if rule.pipeline != IdentityName {
		if r.lookup == nil {
			return nil, &fatal{errs.New(errs.InvalidArguments,
				"Pipeline not found, name: %s, version: latest; a dispatcher names it", rule.pipeline)}
		}
		var err error
		if p, err = r.lookup(rule.pipeline, ""); err != nil {
			return nil, &fatal{errs.Wrap(errs.InvalidArguments, err, "dispatch to pipeline %s", rule.pipeline)}
		}
	}
	q := r.req
	q.Table += rule.suffix
	b, err := newRunner(p, rule.pipeline, &q, r.lookup, r)
	if err != nil {
		return nil, WithKind(SkipTable, err)
	}
	for len(r.branches) <= i {
		r.branches = append(r.branches, nil)
	}
	r.branches[i] = b
	return b, nil
}

// Finish ends the input.
func (r *runner) Finish() (*Output, error) {
	if err := r.reserveAll(); err != nil {
		return nil, err
	}
	out := r.output()
	r.collect(out, 0)
	return out, nil
}

// collect adds the tables and warnings of r, which is the branch of that number, and of the
// branches below it. It returns the next number.
func (r *runner) collect(out *Output, branch int) int {
	r.appendTables(out, branch)
	if r.seen != nil {
		out.Warnings = append(out.Warnings, r.seen.warnings(r.p)...)
	}
	branch++
	for _, b := range r.branches {
		if b != nil {
			branch = b.collect(out, branch)
		}
	}
	return branch
}

// Release gives the memory back.
func (r *runner) Release() {
	for _, b := range r.branches {
		if b != nil {
			b.Release()
		}
	}
	if r.byteSize()+cap(r.conv.text) > keepBytes || r.columns > keepColumns {
		return
	}
	r.empty(nil)
	r.json.release()
	r.rec.Value, r.rec.Work = value.Value{}, nil
	clear(r.cells)
	clear(r.marks)
	*r = runner{
		sink: r.sink, p: r.p, json: r.json, rec: r.rec, conv: converter{text: r.conv.text[:0]}, cells: r.cells,
		marks: r.marks[:0], suffix: r.suffix,
	}
	r.p.runners.pool.Put(r)
}
