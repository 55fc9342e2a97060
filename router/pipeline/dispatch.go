package pipeline

import (
	"strings"

	"cordwood/router/pipeline/document"
	"cordwood/router/pipeline/processor"
	"cordwood/router/vrl/value"
)

// dispatcher sends records to other pipelines according to the value of one field.
type dispatcher struct {
	field processor.Name
	rules []rule
}

// rule says where records with one value are sent.
type rule struct {
	value    value.Value
	suffix   string
	pipeline string
}

// maxRules limits the number of rules of a dispatcher.
const maxRules = 1000

func compileDispatcher(n *document.Node, names *processor.Names) *dispatcher {
	m := n.Map()
	d := &dispatcher{}
	if field, ok := m.MustString("field"); ok {
		if field = strings.TrimSpace(field); field == "" {
			m.Fault("the name of the field is empty")
		}
		d.field = names.Name(field)
	}
	if list := m.Get("rules"); list != nil {
		rules := list.List()
		if len(rules) > maxRules {
			list.Fault("%d rules, at most %d are allowed", len(rules), maxRules)
			rules = nil
		}
		for _, r := range rules {
			d.rules = append(d.rules, compileRule(r))
		}
	}
	m.Done()
	return d
}

func compileRule(n *document.Node) rule {
	m := n.Map()
	r := rule{pipeline: m.String("pipeline", IdentityName)}
	if v := m.Get("value"); v == nil {
		m.Fault(`"value" is required`)
	} else {
		r.value, _ = scalar(v)
	}
	r.suffix, _ = m.MustString("table_suffix")
	if r.pipeline == "" {
		m.Fault("the name of the pipeline is empty")
	}
	m.Done()
	return r
}

// scalar returns the value of a scalar in a document.
func scalar(n *document.Node) (value.Value, bool) {
	v, ok := n.Scalar()
	switch v := v.(type) {
	case string:
		return value.NewString(v), ok
	case bool:
		return value.NewBool(v), ok
	case int64:
		return value.NewInt(v), ok
	case float64:
		return value.NewFloat(v), ok
	case uint64:
		return value.NewFloat(float64(v)), ok
	}
	return value.Value{}, false
}

// match returns the index of the first rule that matches v, or -1.
func (d *dispatcher) match(v value.Value) int {
	for i := range d.rules {
		if value.Same(d.rules[i].value, v) {
			return i
		}
	}
	return -1
}
