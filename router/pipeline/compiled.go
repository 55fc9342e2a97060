package pipeline

import (
	"sync"

	"cordwood/proto/schema"
	"cordwood/router/pipeline/processor"
)

// Pipeline is a compiled pipeline. It is immutable and may be used by any number of goroutines.
type Pipeline struct {
	version     int
	description string
	processors  []processor.Step
	names       processor.Names
	transform   []*listed // nil means auto-transform
	dispatcher  *dispatcher
	suffix      *template // nil if there is none
	size        int
	warnings    []string

	// The time index is transform[timeAt]. If timeAt is -1, it is the field timeName, or the time of processing if a
	// record lacks this field or timeName is "".
	timeAt    int
	timeName  string
	timeField processor.Name
	timeUnit  schema.Type

	// consumed are fields that do not become columns, because the transform list reads them or has columns with their
	// names.
	consumed  map[string]bool
	columns   []schema.Column // the columns of transform, without the time index
	timePlace int             // the position of the time index among them

	runners runners

	// flatten selects the rules of svc_identity: objects are flattened, and arrays become strings.
	flatten bool
}

// runners keeps the memory of runners for later requests with the same pipeline.
type runners struct{ pool sync.Pool }

// identityPipeline is svc_identity for decoded records: records that another pipeline dispatches, and records of a
// dry run.
var identityPipeline = &Pipeline{version: 1, timeAt: -1, timeUnit: schema.TimestampNanosecond, flatten: true}

// Version returns the version of the document's format, 1 or 2.
func (p *Pipeline) Version() int { return p.version }

// Description returns the description in the document.
func (p *Pipeline) Description() string { return p.description }

// HasDispatcher reports whether records may go to other pipelines.
func (p *Pipeline) HasDispatcher() bool { return p.dispatcher != nil }

// HasTableSuffix reports whether tables get a suffix that depends on the data.
func (p *Pipeline) HasTableSuffix() bool { return p.suffix != nil }

// OpenSchema reports whether tables get a column for every field of a record.
func (p *Pipeline) OpenSchema() bool { return p.transform == nil || p.version == 2 }

// Size estimates the memory of p, in bytes.
func (p *Pipeline) Size() int { return p.size }

// Warnings describe parts of the document that probably do something else than intended, with line and path.
func (p *Pipeline) Warnings() []string { return p.warnings }

// Targets returns the pipelines to which records may be dispatched.
func (p *Pipeline) Targets() []string {
	var names []string
	if p.dispatcher != nil {
		for _, r := range p.dispatcher.rules {
			names = append(names, r.pipeline)
		}
	}
	return names
}

// Columns returns the columns of the transform list for a new table, including the time index; nil if there is no
// transform list.
func (p *Pipeline) Columns() []schema.Column {
	if p.transform == nil {
		return nil
	}
	out := make([]schema.Column, 0, len(p.columns)+1)
	out = append(out, p.columns[:p.timePlace]...)
	out = append(out, schema.Column{Name: p.timeName, Type: p.timeUnit, Semantic: schema.Timestamp, NotNull: true})
	return append(out, p.columns[p.timePlace:]...)
}
