package protowalk

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// FuzzNext compares the fast path for usual fields with the general one.
func FuzzNext(f *testing.F) {
	long := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), []byte(strings.Repeat("x", 20_000)))
	f.Add(long)
	f.Add(protowire.AppendVarint(protowire.AppendTag(long[:300], 15, protowire.VarintType), 1<<40))
	f.Add(protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), 7))
	f.Add(protowire.AppendFixed32(protowire.AppendTag(nil, 16, protowire.Fixed32Type), 7))
	f.Add([]byte("\x0a\x80\x01\x0a\x02ab\x12\x00\x08\x7f\x03\x04\x09123"))
	f.Add([]byte{2, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b := data, data
		for {
			var got, want Field
			ok, err := Next(&a, &got)
			wantOK, wantErr := anyField(&b, &want)
			if ok != wantOK || (err == nil) != (wantErr == nil) {
				t.Fatalf("%v %v, want %v %v", ok, err, wantOK, wantErr)
			}
			if !ok {
				return
			}
			if got.Number != want.Number || got.Kind != want.Kind || got.Bits != want.Bits ||
				!bytes.Equal(got.Data, want.Data) || (got.Data == nil) != (want.Data == nil) || len(a) != len(b) {
				t.Fatalf("%+v, want %+v", got, want)
			}
		}
	})
}
