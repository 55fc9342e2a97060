package pipeline

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/klauspost/compress/s2"

	"cordwood/proto/column"
	"cordwood/proto/metapb"
)

// TestCutFrom checks that the rows of a request, for a new and for an existing table, are encoded with the client's
// block, and that they are the same rows as without it.
func TestCutFrom(t *testing.T) {
	var text []byte
	for i := range 200 {
		text = fmt.Appendf(text, "line %d of the application's log;", i*i)
	}
	block := s2.EncodeSnappy(nil, text)
	for name, change := range map[string]func(*Request){
		"new":      func(*Request) {},
		"existing": having("svc_timestamp TimestampNanosecond ti, line String"),
	} {
		encoded := func(fill func(r *Direct) error) (batch []byte) {
			t.Helper()
			r, err := NewDirect(request(change, skipErrors), lines)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Release()
			if err := fill(r); err != nil {
				t.Fatal(err)
			}
			out, err := r.Finish()
			if err != nil || len(out.Tables) != 1 {
				t.Fatalf("%s: %d tables, %v", name, len(out.Tables), err)
			}
			rows := out.Tables[0].Rows
			for i, c := range rows.Cols() {
				c.ID = uint32(i + 1)
			}
			return rows.Encode(nil, column.Header{Protocol: metapb.ProtocolCuts})
		}
		put := func(cut, foreign bool) func(r *Direct) error {
			return func(r *Direct) error {
				if cut {
					r.CutFrom(0, block, text)
				}
				for i, line := range bytes.SplitAfter(text[:len(text)-1], []byte(";")) {
					r.Time(int64(i))
					if foreign && i == 50 {
						line = bytes.Clone(line)
					}
					r.Text(0, line[:len(line)-1])
					if i == 7 {
						r.Text(2, []byte("not a number")) // this row is refused
					}
					if err := r.End(); err != nil {
						return err
					}
				}
				return nil
			}
		}
		plain := encoded(put(false, false))
		want, err := column.Decode(plain, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ cut, foreign, want bool }{
			{true, false, true}, {true, true, false}, {false, false, false},
		} {
			batch := encoded(put(c.cut, c.foreign))
			got, err := column.Decode(batch, nil)
			if err != nil || !bytes.Equal(got.Mem, want.Mem) || got.Rows != 199 {
				t.Errorf("%s, %+v: the rows differ (%v)", name, c, err)
			}
			if has := bytes.Contains(batch, block[8:]); has != c.want {
				t.Errorf("%s, %+v: the batch has the client's block: %v", name, c, has)
			}
		}
	}
}
