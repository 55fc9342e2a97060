package column

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"cordwood/proto/schema"
)

// TestMarkValid checks that builders with marked values are encoded like those without, in any order of marks, removed
// rows and nulls, also if values without a mark are not valid UTF-8.
func TestMarkValid(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := []string{"", "plain", "größer", "\xff", "a\xc3", "\xbcb", strings.Repeat("word ", 30)}
	for range 300 {
		var builders [2]Builder
		for i := range builders {
			builders[i].Add(schema.Column{ID: 1, Type: schema.String})
			builders[i].Cols()[0].Pin()
		}
		marks := rng.IntN(2) == 0
		for range rng.IntN(60) {
			text, drop := texts[rng.IntN(len(texts))], rng.IntN(5) == 0
			mark := strings.ToValidUTF8(text, "") == text && (marks || rng.IntN(3) > 0)
			for i := range builders {
				b := &builders[i]
				c := b.Cols()[0]
				if row := b.Rows(); text != "" {
					c.SetString(row, text)
					if mark && i == 1 {
						c.MarkValid(row)
					}
				}
				if drop {
					b.DropRow()
				} else {
					b.EndRow()
				}
			}
		}
		from := rng.IntN(builders[0].Rows() + 1)
		want := builders[0].EncodeRange(nil, Header{}, from, builders[0].Rows())
		if got := builders[1].EncodeRange(nil, Header{}, from, builders[1].Rows()); !bytes.Equal(got, want) {
			t.Fatalf("with marks %q, want %q", got, want)
		}
		var joined [2]Builder
		for i := range joined {
			joined[i].AppendRows(&builders[0])
			joined[i].AppendRows(&builders[i])
			joined[i].AppendRows(&builders[i])
		}
		if got, want := joined[1].Encode(nil, Header{}), joined[0].Encode(nil, Header{}); !bytes.Equal(got, want) {
			t.Fatalf("appended with marks %q, want %q", got, want)
		}
	}
}

// TestMarkedNotChecked checks that marked values are not examined again. Without the check, a wrong mark shows.
func TestMarkedNotChecked(t *testing.T) {
	var b Builder
	c := b.Add(schema.Column{ID: 1, Type: schema.String})
	c.SetString(0, "\xff")
	c.MarkValid(0)
	b.EndRow()
	defer func() {
		if r := recover(); (r != nil) != checkBodies {
			t.Errorf("panic %v; builds for tests check marks, others do not", r)
		}
	}()
	batch, err := Decode(b.Encode(nil, Header{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := batch.Cols[0].Bytes(0); string(got) != "\xff" {
		t.Errorf("%q was repaired", got)
	}
}
