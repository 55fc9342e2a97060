package pipeline

import (
	"sync"

	"cordwood/proto/schema"
	"cordwood/router/pipeline/processor"
)

// Pipeline is a compiled pipeline. It does not change and serves any number of goroutines.
type Pipeline struct {
	version     int
	description string
	processors  []processor.Step
	names       processor.Names
	transform   []*listed // nil: auto-transform
	dispatcher  *dispatcher
	suffix      *template // nil: none
	size        int
	warnings    []string

	// The time index: transform[timeAt]; or, with timeAt -1, the field of that name, or
	// the time of processing if a record lacks it or timeName is "".
	timeAt    int
	timeName  string
	timeField processor.Name
	timeUnit  schema.Type

	// consumed are fields that do not become columns by themselves: the list reads them, or has
	// columns of their names.
	consumed  map[string]bool
	columns   []schema.Column // of transform, but the time index
	timePlace int             // of the time index among them

	runners runners

	// flatten makes it svc_identity: objects are spread, arrays become strings.
	flatten bool
}

// runners keeps the memory of runners for the next request, by pipeline.
type runners struct{ pool sync.Pool }

// identityPipeline is svc_identity for records that are not text any more: records that another
// pipeline dispatches, and records of a dry run.
var identityPipeline = &Pipeline{version: 1, timeAt: -1, timeUnit: schema.TimestampNanosecond, flatten: true}

// Version returns the version of the document's form, 1 or 2.
func (p *Pipeline) Version() int { return p.version }

// Description returns what the document says of itself.
func (p *Pipeline) Description() string { return p.description }

// HasDispatcher reports whether records may go to other pipelines.
func (p *Pipeline) HasDispatcher() bool { return p.dispatcher != nil }

// HasTableSuffix reports whether tables get a suffix that depends on the data.
func (p *Pipeline) HasTableSuffix() bool { return p.suffix != nil }

// OpenSchema reports whether tables get columns for whatever fields records have.
func (p *Pipeline) OpenSchema() bool { return p.transform == nil || p.version == 2 }

// Size estimates the memory that p takes, in bytes.
func (p *Pipeline) Size() int { return p.size }

// Warnings say what the document probably does otherwise than it was meant, with line and path.
func (p *Pipeline) Warnings() []string { return p.warnings }

// Targets returns the pipelines that records may be dispatched to.
func (p *Pipeline) Targets() []string {
	var names []string
	if p.dispatcher != nil {
		for _, r := range p.dispatcher.rules {
			names = append(names, r.pipeline)
		}
	}
	return names
}

// Columns returns the columns of the transform list as a new table gets them, the time index
// included; nil if there is no such list.
func (p *Pipeline) Columns() []schema.Column {
	if p.transform == nil {
		return nil
	}
	out := make([]schema.Column, 0, len(p.columns)+1)
	out = append(out, p.columns[:p.timePlace]...)
	out = append(out, schema.Column{Name: p.timeName, Type: p.timeUnit, Semantic: schema.Timestamp, NotNull: true})
	return append(out, p.columns[p.timePlace:]...)
}
