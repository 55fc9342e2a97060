package pipeline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/router/pipeline/processor"
	"cordwood/router/vrl/value"
)

// tracer records the processing of the current record.
type tracer struct {
	wanted func(index int) bool // nil means all
	room   int                  // for texts
	whole  bool                 // whether the steps of the current record are described

	record RecordTrace
	was    value.Value // the record before the step
	since  time.Time   // when the step began
	at     *runner     // the runner that processed the record last
}

func stepName(i int, name string) string { return "processors[" + strconv.Itoa(i) + "] " + name }

func jsonOf(v value.Value) string { return string(value.AppendJSON(nil, v)) }

// maxTracedRows limits the number of traced rows of one record.
const maxTracedRows = 1000

func newTracer(q *Request) *tracer {
	t := &tracer{wanted: q.TraceSteps, room: q.TraceBytes}
	if t.room == 0 {
		t.room = math.MaxInt
	}
	return t
}

// take returns the text if it fits the size limit, otherwise "".
func (t *tracer) take(text string) string {
	if len(text) > t.room {
		t.record.Cut, t.room = true, 0
		return ""
	}
	t.room -= len(text)
	return text
}

// show returns the record v in JSON if it fits the size limit, otherwise "".
func (t *tracer) show(v value.Value) string {
	if t.room == 0 { // it may be long
		t.record.Cut = true
		return ""
	}
	return t.take(jsonOf(v))
}

func (t *tracer) begin(r *runner, text []byte) {
	t.record = RecordTrace{Index: r.records}
	if len(text) > t.room { // this avoids copying it first
		t.record.Cut = true
	} else {
		t.record.Input = t.take(string(text))
	}
	t.at = r
	t.whole = t.wanted == nil || t.wanted(r.records)
}

func (t *tracer) before(v value.Value) {
	if !t.whole {
		return
	}
	t.was = v.Detach()
	t.since = time.Now()
}

func (t *tracer) after(r *runner, i int, step *processor.Step, v value.Value) {
	t.at = r
	if !t.whole {
		return
	}
	took := time.Since(t.since)
	s := StepTrace{
		Pipeline: r.name, Step: stepName(i, step.Name), Position: i, Line: step.Line, Took: took, Record: t.show(v),
	}
	s.compare(t.was.Object(), v.Object())
	t.record.Steps = append(t.record.Steps, s)
}

// note adds a step that changes nothing.
func (t *tracer) note(r *runner, step string) {
	if !t.whole {
		return
	}
	t.record.Steps = append(t.record.Steps, StepTrace{
		Pipeline: r.name, Step: step, Position: -1, Record: t.show(r.rec.Value),
	})
}

// variables records that the variables are removed from the record.
func (t *tracer) variables(r *runner, v value.Value) {
	if !t.whole {
		return
	}
	rest := withoutVariables(v)
	s := StepTrace{Pipeline: r.name, Step: "variables", Position: -1, Record: t.show(rest)}
	s.compare(v.Object(), rest.Object())
	t.record.Steps = append(t.record.Steps, s)
}

// withoutVariables returns a copy of a record without its variables.
func withoutVariables(v value.Value) value.Value {
	rest := v.Detach()
	if rest.Object() != nil {
		for _, name := range variableNames {
			rest.MutObject().Delete(name)
		}
	}
	return rest
}

// compare sets the differences between the fields of an object before and after the step.
func (s *StepTrace) compare(was, is *value.Fields) {
	if was == nil || is == nil {
		return
	}
	i, j := 0, 0
	for i < was.Len() || j < is.Len() {
		switch {
		case j == is.Len() || i < was.Len() && was.Key(i) < is.Key(j):
			s.Removed = append(s.Removed, was.Key(i))
			i++
		case i == was.Len() || is.Key(j) < was.Key(i):
			s.Added = append(s.Added, string([]byte(is.Key(j))))
			j++
		default:
			if !value.Same(was.PeekAt(i), is.PeekAt(j)) {
				s.Changed = append(s.Changed, was.Key(i))
			}
			i, j = i+1, j+1
		}
	}
}

// row records the row that was just written to d.
func (t *tracer) row(r *runner, d *dest) {
	t.at = r
	if len(t.record.Rows) == maxTracedRows {
		t.record.Cut = true
		return
	}
	row := RowTrace{
		Table: d.table, Options: d.opts.options, NoCreate: d.opts.noCreate || !r.req.AutoCreate, Row: d.rows.Rows() - 1,
	}
	if t.whole {
		rest := withoutVariables(r.rec.Value)
		row.Record, row.Dropped = t.show(rest), r.p.dropped(rest)
	}
	t.record.Rows = append(t.record.Rows, row)
}

// dropped returns the fields of a record that are not in a list of all columns.
func (p *Pipeline) dropped(v value.Value) (names []string) {
	fields := v.Object()
	if p.OpenSchema() || fields == nil {
		return nil
	}
	for i := range fields.Len() {
		key := fields.Key(i)
		taken := slices.ContainsFunc(p.transform, func(c *listed) bool {
			return c.in.Text == key || strings.HasPrefix(c.in.Text, key+".")
		})
		if !taken {
			names = append(names, strings.Clone(key))
		}
	}
	return names
}

// end reports the record.
func (t *tracer) end(r *runner, err error) {
	rec := &t.record
	switch {
	case err != nil:
		rec.Outcome, rec.Rows = Failed, nil
		rec.Error = t.explain(err)
	case len(rec.Rows) == 0 && rec.Error != nil:
		rec.Outcome = Failed
	case len(rec.Rows) == 0:
		rec.Outcome = Dropped
	default:
		rec.Outcome = Stored
	}
	r.req.Trace(*rec)
	t.record, t.was = RecordTrace{}, value.Value{}
}

// refused records that one of the rows of the record is left out because of an error. Only the last such error is kept.
func (t *tracer) refused(err error) { t.record.Error = t.explain(err) }

func (t *tracer) explain(err error) *StepError {
	if f := (*elementError)(nil); errors.As(err, &f) {
		e := t.explain(f.err)
		e.Reason = fmt.Sprintf("element %d of the list: %s", f.index, e.Reason)
		return e
	}
	e := &StepError{Pipeline: t.at.name, Position: -1, Reason: err.Error()}
	if f := (*processor.Error)(nil); errors.As(err, &f) {
		e.Step, e.Position = stepName(f.Position, f.Processor), f.Position
		e.Field, e.Value, e.Reason, e.Line, e.Place = f.Field, f.Value, f.Reason, f.Line, f.Place
		return e
	}
	if f := (*transformError)(nil); errors.As(err, &f) {
		e.Step, e.Field, e.Value, e.Reason = "transform", f.field, f.value, f.reason
		return e
	}
	if f := (*valueError)(nil); errors.As(err, &f) {
		e.Table, e.Field, e.Value = f.table, f.column, f.value
	}
	switch KindOf(err) {
	case SkipParse:
		e.Step = "parse"
	case SkipTimeIndex:
		e.Step, e.Field = "time index", t.at.timeName
	case SkipOption:
		e.Step = "variables"
	case SkipProcessor:
		e.Step = "processors"
	default:
		e.Step = "table"
	}
	return e
}
