package otlp

import "bytes"

// members records the members of an object of attributes. If a key is repeated, the last one counts, as usual in
// JSON.
type members struct {
	keys [][]byte
	from []int // where each begins in the object, including the comma before it
}

func (m *members) empty() { m.keys, m.from = m.keys[:0], m.from[:0] }

// note records a member before it is appended to the object.
func (m *members) note(key, object []byte) {
	m.keys, m.from = append(m.keys, key), append(m.from, len(object))
}

// fewKeys is the largest number of keys for which all pairs are compared.
const fewKeys = 24

// again returns which members have a key that is repeated later, or nil if there is none.
func (m *members) again() (out []bool) {
	mark := func(i int) {
		if out == nil {
			out = make([]bool, len(m.keys))
		}
		out[i] = true
	}
	if len(m.keys) <= fewKeys {
		for i, key := range m.keys {
			for _, other := range m.keys[i+1:] {
				if bytes.Equal(key, other) {
					mark(i)
					break
				}
			}
		}
		return out
	}
	last := make(map[string]int, len(m.keys))
	for i, key := range m.keys {
		if at, ok := last[string(key)]; ok {
			mark(at)
		}
		last[string(key)] = i
	}
	return out
}

// settle removes members whose keys are repeated later, and returns their number. The object is not closed yet.
func (m *members) settle(object []byte) (out []byte, left int) {
	again := m.again()
	if again == nil {
		return object, 0
	}
	out = append(make([]byte, 0, len(object)+1), '{')
	for i, from := range m.from {
		if again[i] {
			left++
			continue
		}
		to := len(object)
		if i+1 < len(m.from) {
			to = m.from[i+1]
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, bytes.TrimPrefix(object[from:to], []byte{','})...)
	}
	return out, left
}
