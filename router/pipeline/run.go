package pipeline

import (
	"errors"
	"unsafe"

	"cordwood/proto/errs"
	"cordwood/router/pipeline/processor"
	"cordwood/router/vrl"
	"cordwood/router/vrl/value"
)

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

// TextRecord receives a line as the record {"message": line}.
func (r *runner) TextRecord(line []byte) error {
	o := r.json.ownShaped()
	o.SetCached("message", value.NewString(unsafe.String(unsafe.SliceData(line), len(line))), &r.message)
	return r.take(o.Value(), nil, len(line))
}

// Record implements Runner.
func (r *runner) Record(v value.Value, size int) error {
	j := &r.json
	j.big, j.lone, j.repeated, j.vanished = nil, 0, 0, 0
	if v.Kind() != value.Object {
		if r.trace != nil {
			r.trace.begin(r, value.AppendJSON(nil, v))
			r.trace.end(r, errNotMap)
		}
		return r.refuse(errNotMap)
	}
	return r.take(v, nil, size)
}

// admitWork starts the work on a record of size bytes. Its error ends the request.
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

// take passes a record through the pipeline. text is the record's source, if there is one, and size is the length of
// the source.
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
	r.notes.grokFractions += r.work.GrokFractions
	r.notes.grokDigits += r.work.GrokDigits
	r.records++
	return nil
}

// admit refuses records with an integer that no value can hold, and records with variables if the request forbids
// them.
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

// process passes a record through the processors and stores the result. If it returns an error of the record,
// nothing of the record remains.
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
			return &kindError{SkipProcessor, processor.Located(err, step, i)}
		}
		if r.trace != nil {
			r.trace.after(r, i, step, rec.Value)
		}
		if rec.Value.IsNull() {
			r.drop(i)
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
		r.dropEmpty(rec.Value)
		return r.storeMany(rec.Value)
	}
	return &kindError{SkipProcessor, errs.New(errs.InvalidArguments,
		"the result of the processors must be a map or a list of maps: %s", processor.Describe(rec.Value))}
}

// dispatch returns the runner of the pipeline to which the record is dispatched, or nil if it is not dispatched.
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

// branch creates the runner for the records of a rule.
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
		return nil, &fatal{errs.New(errs.InvalidArguments, "records of one request go to more than %d pipelines and suffixes",
			maxBranches)}
	}
	p := identityPipeline
	if rule.pipeline != IdentityName {
		if r.lookup == nil {
			return nil, &fatal{errs.New(errs.InvalidArguments,
				"Pipeline not found, name: %s, version: latest; a dispatcher refers to it", rule.pipeline)}
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
