package pipeline

import (
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline/document"
	"cordwood/router/pipeline/processor"
)

// Options are the settings for compiling a pipeline. The zero value is valid.
type Options struct {
	Env processor.Env
	// TimestampColumn is the name of the time index if a pipeline does not name one; "" means DefaultTimestampColumn.
	TimestampColumn string
}

// Compile compiles a pipeline's document. The error has code InvalidArguments and wraps a *document.Error with all
// faults.
func Compile(source []byte, o Options) (*Pipeline, error) {
	if o.TimestampColumn == "" {
		o.TimestampColumn = DefaultTimestampColumn
	}
	p, err := compile(source, o)
	if err != nil {
		return nil, errs.Wrap(errs.InvalidArguments, err, "Failed to build pipeline")
	}
	return p, nil
}

func compile(source []byte, o Options) (*Pipeline, error) {
	root, err := document.Parse(source)
	if err != nil {
		return nil, err
	}
	p := &Pipeline{version: 1, timeAt: -1, timeUnit: schema.TimestampNanosecond, size: 4096 + 64*len(source)}
	m := root.Map()
	if n := m.Get("version"); n != nil {
		p.readVersion(n)
	}
	p.description = m.String("description", "")
	list := processor.CompileList(m.Get("processors"), o.Env, &p.names)
	p.processors = list.Steps
	if n := m.Get("dispatcher"); n != nil {
		p.dispatcher = compileDispatcher(n, &p.names)
	}
	transform := m.Get("transform")
	if n := m.Get("transforms"); n != nil {
		transform = n
	}
	if transform != nil {
		p.compileTransform(transform, o, list.Texts)
	}
	if p.transform == nil {
		p.autoTimeIndex(m, list)
	}
	if n := m.Get("table_suffix"); n != nil {
		p.suffix = compileTemplate(n, &p.names)
	}
	m.Done()
	if err := root.Err(); err != nil {
		return nil, err
	}
	p.warnings = root.Warnings()
	p.size += processor.BytesPerInstruction * root.Spend(0)
	return p, nil
}

func (p *Pipeline) readVersion(n *document.Node) {
	text, ok := n.Text()
	if !ok {
		return
	}
	v, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || v != 1 && v != 2 {
		n.Fault("Invalid Pipeline doc version number: %s; expected 1 or 2", processor.Cut(text))
		return
	}
	p.version = v
}

// autoTimeIndex chooses the time index of a pipeline without a transform list among the fields that date and epoch
// processors set.
func (p *Pipeline) autoTimeIndex(m *document.Map, list processor.List) {
	var fields []processor.TimeField
	for _, t := range list.Times {
		known := false
		for i := range fields {
			if fields[i].Name == t.Name {
				fields[i], known = t, true // the last processor that sets it wins
			}
		}
		if !known {
			fields = append(fields, t)
		}
	}
	if len(fields) > 1 {
		var must []processor.TimeField
		for _, f := range fields {
			if !f.IgnoreMissing {
				must = append(must, f)
			}
		}
		if len(must) != 1 {
			m.Fault("%d fields could be the time index, because date and epoch set them; add a transform list with `index: "+
				"timestamp` for one of them, or set ignore_missing for all but one", len(fields))
			return
		}
		fields = must
	}
	if len(fields) == 0 {
		return
	}
	f := fields[0]
	if err := schema.CheckColumnName(f.Name); err != nil {
		m.Fault("the time index: %s", err)
		return
	}
	if by := list.Texts[f.Name]; by != "" {
		m.Node().Warn("the time index is the field %q, which %s converts back to a text after it was parsed as a time: "+
			"records with such a text fail; change the order of the processors", processor.Cut(f.Name), by)
	}
	p.timeName, p.timeField = f.Name, p.names.Name(f.Name)
	p.timeUnit = timestampType(f.Unit)
}
