package datadog

import (
	"bytes"
	"slices"

	"cordwood/router/vrl/jsonscan"
)

// tag is a tag of a log: a key and a value. One without a value has an empty one.
type tag struct{ key, value []byte }

// manyTags is the smallest number of tags at which tags of one key are found by sorting.
const manyTags = 32

// appendTags appends tags, "env:test,team:a", and the tags of the query as a JSON object. The values
// of a key that comes more than once become an array.
func (in *input) appendTags(to, tags []byte) []byte {
	in.list = appendList(appendList(in.list[:0], tags), in.tags)
	list := in.list
	if len(list) > manyTags {
		slices.SortStableFunc(list, func(a, b tag) int { return bytes.Compare(a.key, b.key) })
	}
	to = append(to, '{')
	for i := range list {
		if list[i].key == nil {
			continue // it stands with the first of its key
		}
		if to[len(to)-1] != '{' {
			to = append(to, ',')
		}
		to = append(jsonscan.AppendQuotedBytes(to, list[i].key), ':')
		to = appendValues(to, list[i:])
	}
	return append(to, '}')
}

// appendList appends the tags of a text to a list.
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

// appendValues appends the values of the first tag's key, and takes them off the list.
func appendValues(to []byte, list []tag) []byte {
	key, start, n := list[0].key, len(to), 0
	for i := range list {
		if list[i].key == nil || !bytes.Equal(list[i].key, key) {
			if len(list) > manyTags && i > 0 {
				break // they are sorted
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
