package loki

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// plainFields walks through the fields of a message with package protowire alone.
func plainFields(msg []byte, each func(field protowire.Number, typ protowire.Type, value []byte)) bool {
	for len(msg) > 0 {
		num, typ, n := protowire.ConsumeField(msg)
		if n < 0 {
			return false
		}
		_, _, tag := protowire.ConsumeTag(msg)
		each(num, typ, msg[tag:n])
		msg = msg[n:]
	}
	return true
}

// plainEntry returns an entry as text, and the number of its metadata pairs.
func plainEntry(msg []byte) (text string, pairs int, ok bool) {
	ok = true
	var seconds, nanos uint64
	var line []byte
	metadata := ""
	inner := func(value []byte, each func(protowire.Number, protowire.Type, []byte)) {
		data, _ := protowire.ConsumeBytes(value)
		ok = plainFields(data, each) && ok
	}
	ok = plainFields(msg, func(field protowire.Number, typ protowire.Type, value []byte) {
		if typ != protowire.BytesType {
			return
		}
		switch field {
		case 1:
			inner(value, func(field protowire.Number, typ protowire.Type, value []byte) {
				number, _ := protowire.ConsumeVarint(value)
				if typ == protowire.VarintType && field == 1 {
					seconds = number
				} else if typ == protowire.VarintType && field == 2 {
					nanos = number
				}
			})
		case 2:
			line, _ = protowire.ConsumeBytes(value)
		case 3:
			var pair [3][]byte
			inner(value, func(field protowire.Number, typ protowire.Type, value []byte) {
				if typ == protowire.BytesType && field < 3 {
					pair[field], _ = protowire.ConsumeBytes(value)
				}
			})
			metadata += fmt.Sprintf(" %q=%q", pair[1], pair[2])
			pairs++
		}
	}) && ok
	return fmt.Sprintf("%d.%d %q%s", int64(seconds), int64(nanos), line, metadata), pairs, ok
}

// FuzzEntries compares the reader of entries with package protowire.
func FuzzEntries(f *testing.F) {
	body := protobuf(`{a="b"}`, pushed{1_700_000_000_123_456_789, "x", []string{"k", "v"}}, pushed{2, "", nil})
	f.Add(body)
	f.Add([]byte("\x0a\x0c\x0a\x00\x12\x08\x0a\x02\x08\x01\x0a\x02\x10\x07"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got []string
		err := readProto(data, func(s *stream) error {
			var e entry
			return s.eachEntry(&e, func() error {
				text := fmt.Sprintf("%d.%d %q", e.seconds, e.fraction, e.line)
				for _, p := range e.metadata.list {
					text += fmt.Sprintf(" %q=%q", p.name, p.value)
				}
				if e.metadata.n <= maxPairs {
					got = append(got, text)
				}
				return nil
			})
		})
		var want []string
		ok := true
		ok = plainFields(data, func(field protowire.Number, typ protowire.Type, value []byte) {
			if field != 1 || typ != protowire.BytesType {
				return
			}
			stream, _ := protowire.ConsumeBytes(value)
			ok = plainFields(stream, func(field protowire.Number, typ protowire.Type, value []byte) {
				if field != 2 || typ != protowire.BytesType {
					return
				}
				msg, _ := protowire.ConsumeBytes(value)
				text, pairs, whole := plainEntry(msg)
				if ok = ok && whole; pairs <= maxPairs {
					want = append(want, text)
				}
			}) && ok
		}) && ok
		if (err == nil) != ok {
			t.Fatalf("error %v, valid message: %v", err, ok)
		}
		if err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("entries %q\nwant %q", got, want)
		}
	})
}
