package processor

import (
	"errors"
	"regexp"

	"cordwood/router/pipeline/document"
	"cordwood/router/pipeline/processor/jsonpath"
	"cordwood/router/vrl/value"
)

// compileJSONPath: json_path selects parts of an array or object with an RFC 9535 query.
//
//	json_path:    the query, as in $.items[?@.price > 10].name; required
//	result_index: number of the one match, from 0, that is the result; without it the
//	              result is an array of all matches
//
// If there is no match with that number, the result is null. null does not count as a missing field. It is an
// error, because it has the wrong type.
func compileJSONPath(o *Options) Apply {
	fields := o.Fields()
	var path *jsonpath.Path
	if n := o.Get("json_path"); n == nil {
		o.Fault(`"json_path" is required`)
	} else {
		path = readJSONPath(n)
	}
	index := -1
	if n := o.Get("result_index"); n != nil {
		if i, ok := n.Int(); ok && (i < 0 || i > jsonpath.MaxSteps) {
			n.Fault("expected a number of at least 0, found %d", i)
		} else if ok {
			index = int(i)
		}
	}
	limit := -1
	if index >= 0 {
		limit = index + 1
	}
	return fields.EachPresent(func(rec *Record, fl *Field, v value.Value) error {
		if v.Object() == nil && v.Array() == nil {
			return rec.WrongType(fl.In.Text, v, "an array or object")
		}
		found, steps, err := path.SelectCounted(nil, v, limit)
		if over := rec.Spend(steps); over != nil {
			return over
		}
		if over := rec.Reserve(len(found) * fieldSize); over != nil {
			return over
		}
		if err != nil {
			return rec.Fail(fl.In.Text, v, "%s", err)
		}
		switch {
		case index < 0:
			rec.Set(fl.Out, value.NewArray(found))
		case index < len(found):
			rec.Set(fl.Out, found[index])
		default:
			rec.Set(fl.Out, value.Value{})
		}
		return nil
	})
}

// readJSONPath compiles a query. It reports a fault if the query is not valid.
func readJSONPath(n *document.Node) *jsonpath.Path {
	text, ok := n.String()
	if !ok {
		return nil
	}
	before := n.Faults()
	path, err := jsonpath.Compile(text, func(pattern string) (*regexp.Regexp, error) {
		return compileQueryRegex(n, pattern)
	})
	if err != nil && n.Faults() == before { // the fault of the pattern is already noted
		n.Fault("invalid JSONPath %q: %s", Cut(text), err)
	}
	return path
}

var errBadPattern = errors.New("bad pattern")

func compileQueryRegex(n *document.Node, pattern string) (*regexp.Regexp, error) {
	if re := CompileRegex(n, pattern); re != nil {
		return re, nil
	}
	return nil, errBadPattern
}
