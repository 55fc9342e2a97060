package pipeline

import (
	"strconv"
	"strings"

	"cordwood/router/pipeline/document"
	"cordwood/router/pipeline/processor"
	"cordwood/router/vrl/value"
)

// template is a table suffix with references to fields: _${app}_${dc}.
type template struct {
	parts []part
}

// part is literal text, or a reference to a field if it has a name.
type part struct {
	text  string
	field processor.Name
}

func compileTemplate(n *document.Node, names *processor.Names) *template {
	text, ok := n.String()
	if !ok {
		return nil
	}
	t := &template{}
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "${")
		if before != "" {
			t.parts = append(t.parts, part{text: before})
		}
		if !found {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		if name = strings.TrimSpace(name); !closed || name == "" {
			n.Fault("%q: expected ${name}, the name of a field in braces", processor.Cut("${"+after))
			return nil
		}
		t.parts = append(t.parts, part{field: names.Name(name)})
		rest = tail
	}
	return t
}

// append appends the suffix for a record. The suffix is empty if one of the fields in the template is missing, or is
// neither a string nor an integer.
func (t *template) append(dst []byte, rec *processor.Record) []byte {
	from := len(dst)
	for i := range t.parts {
		p := &t.parts[i]
		if p.field.Text == "" {
			dst = append(dst, p.text...)
			continue
		}
		v, ok := rec.Get(p.field)
		switch {
		case ok && v.Kind() == value.String:
			dst = append(dst, v.Str()...)
		case ok && v.Kind() == value.Int:
			dst = strconv.AppendInt(dst, v.Int(), 10)
		default:
			return dst[:from]
		}
	}
	return dst
}
