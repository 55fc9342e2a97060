package otlp

import "bytes"

// members records the members of an object of attributes. If a key is repeated, the last one counts, as usual in
// JSON.
type members struct {
	keys [][]byte
	from []int // where each begins in the object, including the comma before it

	// messages has the messages that append appended, and to the end of each in the object. known is the number of
	// messages of the previous object whose members are still in the memory of the object.
	messages [][]byte
	to       []int
	known    int
}

func (m *members) empty() {
	m.keys, m.from, m.messages, m.to, m.known = m.keys[:0], m.from[:0], m.messages[:0], m.to[:0], 0
}

// next prepares m for another object in the memory of the previous one. It must only be called if the memory still has
// all members that append appended. The messages of the previous object must stay unchanged.
func (m *members) next() {
	known := len(m.messages)
	m.empty()
	m.known = known
}

// repeat appends the member of a message if the previous object has the same messages up to here. Records often have
// the same first attributes as the record before.
func (m *members) repeat(object, msg []byte) (_ []byte, ok bool) {
	i := len(m.messages)
	if i >= m.known || i != len(m.keys) || !bytes.Equal(msg, m.messages[:i+1][i]) {
		m.known = 0 // the members after this one will be overwritten
		return object, false
	}
	m.keys, m.from, m.messages, m.to = m.keys[:i+1], m.from[:i+1], m.messages[:i+1], m.to[:i+1]
	return object[:m.to[i]], true
}

// note records a member before it is appended to the object.
func (m *members) note(key, object []byte) {
	m.keys, m.from = append(m.keys, key), append(m.from, len(object))
}

// fewKeys is the largest number of keys for which all pairs are compared.
const fewKeys = 24

// again returns, for each member, whether a later member has the same key. It returns nil if no key is repeated.
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

// settle removes members whose keys are repeated later, and returns the number of removed members. The object is not
// closed yet.
func (m *members) settle(object []byte) (out []byte, left int) {
	again := m.again()
	if again == nil {
		return object, 0
	}
	m.messages = m.messages[:0] // the object moves to other memory
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
