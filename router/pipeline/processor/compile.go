package processor

import (
	"strings"

	"cordwood/proto/nearest"
	"cordwood/router/pipeline/document"
)

// maxSteps limits the number of processors of a pipeline.
const maxSteps = 1000

// CompileList compiles the list of processors at n; nil is an empty list. Faults are noted in the document. The
// names that the processors use are added to names.
func CompileList(n *document.Node, env Env, names *Names) List {
	var out List
	if n == nil {
		return out
	}
	entries := n.List()
	if len(entries) > maxSteps {
		n.Fault("%d processors, at most %d are allowed", len(entries), maxSteps)
		return out
	}
	for _, e := range entries {
		if s, ok := out.compileStep(e, env, names); ok {
			out.Steps = append(out.Steps, s)
		}
	}
	return out
}

// elsewhere maps processors of other systems to advice on their equivalent here.
var elsewhere = map[string]string{
	"set":         "; use vrl: `.field = \"value\"`",
	"append":      "; use vrl: `.field = push(array!(.field), \"value\")`",
	"rename":      "; use vrl: `.new = del(.old)`",
	"remove":      "; use vrl: `del(.field)`",
	"drop":        "; use filter, or vrl: `if .level == \"debug\" { abort }`",
	"convert":     "; use vrl: `.field = to_int!(.field)`, or the type in the transform",
	"script":      "; use vrl",
	"foreach":     "; use vrl: `for_each(array!(.list)) -> |_, value| { … }`",
	"split":       "; use vrl: `.list = split!(.field, \",\")`",
	"trim":        "; use vrl: `.field = strip_whitespace!(.field)`",
	"lowercase":   "; use letter with method: lower",
	"uppercase":   "; use letter with method: upper",
	"json":        "; use json_parse",
	"kv":          "; use key_value, or logfmt",
	"uri_parts":   "; use vrl: `.url = parse_url!(.url)`",
	"urldecode":   "; use urlencoding with method: decode",
	"timestamp":   "; use date, or epoch for numbers",
	"mutate":      "; use vrl: `.new = del(.old)` renames, `.field = \"value\"` sets, `del(.field)` removes",
	"fail":        "; use vrl: `abort`",
	"fingerprint": "; use vrl: `.hash = sha2(string!(.field))`",
}

func (l *List) compileStep(n *document.Node, env Env, names *Names) (Step, bool) {
	if n.IsNull() {
		n.Fault("expected a map with the name of a processor as its key, found null")
		return Step{}, false
	}
	m := n.Map()
	entries := m.Entries()
	if len(entries) == 0 {
		m.Fault("expected the name of a processor, such as `- date: {field: time}`")
		return Step{}, false
	}
	for i := range entries[1:] {
		e := &entries[i+1]
		e.KeyFault("a processor has one key, its name, but %q is next to %q; begin another list entry, or indent it "+
			"as an option", Cut(e.Key), Cut(entries[0].Key))
	}
	e := &entries[0]
	kind, ok := Find(e.Key)
	if !ok {
		s := elsewhere[e.Key]
		if s == "" {
			s = nearest.DidYouMean(", ", e.Key, KindNames())
		}
		if s == "" {
			s = "; known are " + strings.Join(KindNames(), ", ")
		}
		e.KeyFault("Unsupported %s processor%s", Cut(e.Key), s)
		return Step{}, false
	}
	before := n.Faults()
	if !ownFieldsOnly[kind.Name] {
		l.Texts = nil
	}
	o := &Options{Map: e.Value.Map(), Env: env, kind: kind.Name, names: names, list: l}
	apply := kind.Compile(o)
	o.Done()
	return Step{kind.Name, apply, n.Line()}, n.Faults() == before && apply != nil
}
