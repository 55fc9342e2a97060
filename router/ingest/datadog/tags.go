package datadog

import (
	"bytes"
	"slices"

	"cordwood/router/vrl/jsonscan"
)

// tag is a tag of a log: a key and a value. The value may be empty.
type tag struct{ key, value []byte }

// manyTags is the number of tags at which tags with equal keys are found by sorting.
const manyTags = 32

// appendTags appends tags such as "env:test,team:a", and the tags in the query string, as a JSON object. If a key
// occurs more than once, its values become an array.
func (in *input) appendTags(to, tags []byte) []byte {
	in.list = appendList(appendList(in.list[:0], tags), in.tags)
	list := in.list
	if len(list) > manyTags {
		slices.SortStableFunc(list, func(a, b tag) int { return bytes.Compare(a.key, b.key) })
	}
	to = append(to, '{')
	for i := range list {
		if list[i].key == nil {
			continue // its value was appended with the first tag of the same key
		}
		if to[len(to)-1] != '{' {
			to = append(to, ',')
		}
		to = append(jsonscan.AppendQuotedBytes(to, list[i].key), ':')
		to = appendValues(to, list[i:])
	}
	return append(to, '}')
}

// appendList appends the tags in a text to a list.
func appendList(list []tag, text []byte) []tag {
	for len(text) > 0 {
		var one []byte
		one, text, _ = bytes.Cut(text, []byte{','})
		key, value, _ := bytes.Cut(bytes.TrimSpace(one), []byte{':'})
		if len(key) > 0 || len(value) > 0 {
			list = append(list, tag{key, value})
		}
	}
	return list
}

// appendValues appends the values of the first tag's key, and removes them from the list.
func appendValues(to []byte, list []tag) []byte {
	key, start, n := list[0].key, len(to), 0
	for i := range list {
		if list[i].key == nil || !bytes.Equal(list[i].key, key) {
			if len(list) > manyTags && i > 0 {
				break // the list is sorted
			}
			continue
		}
		if n++; n > 1 {
			to = append(to, ',')
		}
		to = jsonscan.AppendQuotedBytes(to, list[i].value)
		list[i].key = nil
	}
	if n > 1 {
		to = append(slices.Insert(to, start, '['), ']')
	}
	return to
}
