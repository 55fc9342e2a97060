package syslog

import (
	"cmp"
	"slices"

	"cordwood/router/vrl/jsonscan"
	"cordwood/router/vrl/logformat/syslog"
	"cordwood/router/vrl/value"
)

// param is a parameter of structured data. If its name is empty, it stands for an element without parameters.
type param struct {
	id, name string
	value    []byte
	empty    bool
}

// paramsOf lists the parameters of structured data, sorted by element and name. buf is memory for their values.
func paramsOf(list []param, buf []byte, d syslog.Data) ([]param, []byte) {
	for e := d.Elements(); e.Next(); {
		before := len(list)
		for e.Param() {
			start := len(buf)
			buf = syslog.AppendValue(buf, e.Value)
			list = append(list, param{id: e.ID, name: e.Name, value: buf[start:len(buf):len(buf)]})
		}
		if len(list) == before {
			list = append(list, param{id: e.ID, empty: true})
		}
	}
	if !isApart(list) {
		slices.SortStableFunc(list, func(a, b param) int {
			return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.name, b.name))
		})
	}
	return list, buf
}

// isApart reports whether no element occurs twice, and no parameter in one element, as the standard requires. If
// there are many parameters it returns false, because the check would take long.
func isApart(list []param) bool {
	const few = 16
	if len(list) > few {
		return false
	}
	for i := range list {
		for j := range i {
			a, b := &list[j], &list[i]
			if a.id == b.id && (a.name == b.name || list[i-1].id != b.id) {
				return false
			}
		}
	}
	return true
}

// appendData appends structured data as JSON: {"id":{"name":"value"}}. If a name occurs more than once in an
// element, its values become an array.
func appendData(to []byte, d syslog.Data) []byte {
	var few [8]param
	list, _ := paramsOf(few[:0], nil, d)
	to = append(to, '{')
	for i := 0; i < len(list); {
		if i > 0 {
			to = append(to, ',')
		}
		id := list[i].id
		to = append(jsonscan.AppendQuoted(to, id), ':', '{')
		for first := true; i < len(list) && list[i].id == id; {
			if list[i].empty {
				i++
				continue
			}
			if !first {
				to = append(to, ',')
			}
			first = false
			n := same(list[i:])
			to = append(jsonscan.AppendQuoted(to, list[i].name), ':')
			to = appendValues(to, list[i:i+n])
			i += n
		}
		to = append(to, '}')
	}
	return append(to, '}')
}

// same returns how many parameters at the start of list have the same name.
func same(list []param) int {
	n := 1
	for n < len(list) && !list[n].empty && list[n].id == list[0].id && list[n].name == list[0].name {
		n++
	}
	return n
}

// appendValues appends the values of one name.
func appendValues(to []byte, list []param) []byte {
	if len(list) == 1 {
		return jsonscan.AppendQuotedBytes(to, list[0].value)
	}
	to = append(to, '[')
	for i, p := range list {
		if i > 0 {
			to = append(to, ',')
		}
		to = jsonscan.AppendQuotedBytes(to, p.value)
	}
	return append(to, ']')
}

// dataValue returns structured data as a value of the same structure.
func dataValue(d syslog.Data) value.Value {
	v, err := value.ParseJSON(string(appendData(nil, d)), value.JSONOptions{})
	if err != nil {
		return value.NewString(err.Error()) // never happens, because it is JSON
	}
	return v
}
