package pipeline

import (
	"cordwood/router/pipeline/processor"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
)

// Lookup finds the pipeline that a dispatcher names. The version "" is the latest. Its error fails the request. It
// is never called for svc_identity.
type Lookup func(name, version string) (*Pipeline, error)

// runner is the Runner of a pipeline. Dispatched records go through a separate runner below it.
type runner struct {
	sink

	p      *Pipeline
	name   string
	lookup Lookup

	over     *runner   // nil if it is the topmost runner
	depth    int       // number of dispatches that lead here
	branched int       // branches of all runners, in the topmost one
	branches []*runner // by rule of the dispatcher
	trace    *tracer

	work  *fn.Meter // the topmost runner's
	meter fn.Meter
	json  reader
	rec   *processor.Record
	conv  converter
	cells []cell
	vars  variables
	auto  cell
	flat  flattening
	last  *dest       // the last one that got a record
	seen  *seenFields // nil unless Request.TellAbsent
	marks []mark

	suffix []byte
	// message is where TextRecord puts the line, and plain are the last shapes without variables.
	message value.Cache
	plain   [2]*value.Shape
}

// mark is the end of a table before the current record.
type mark struct {
	d    *dest
	rows int
}

// maxDispatches limits the number of pipelines that a record may go through.
const maxDispatches = 16

// maxBranches limits the number of different pipelines and suffixes for the records of one request.
const maxBranches = 1000

// NewRunner returns a Runner that passes a request's records through p; nil is svc_identity. lookup may be nil if p
// does not dispatch. Only svc_identity uses Request.TimeIndex. If a hint or the table name is invalid, the error
// has code InvalidArguments.
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
			r.trace = newTracer(q)
		}
	}
	r.rec.Work = r.work
	if q.TellAbsent && p.transform != nil {
		r.seen = &seenFields{}
	}
	return r, nil
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

// collect adds the tables and warnings of r, which is the branch with the given number, and of the branches below
// it. It returns the next number.
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
	r.rec.Release()
	if r.byteSize()+cap(r.conv.text)+r.json.shapes.size() > keepBytes || r.columns > keepColumns {
		r.json.shapes.forget() // the caches of programs may still refer to some of them
		return
	}
	r.empty(nil)
	r.json.release()
	clear(r.cells)
	clear(r.marks)
	*r = runner{
		sink: r.sink, p: r.p, json: r.json, rec: r.rec, conv: converter{text: r.conv.text[:0]}, cells: r.cells,
		marks: r.marks[:0], suffix: r.suffix,
	}
	r.p.runners.pool.Put(r)
}
