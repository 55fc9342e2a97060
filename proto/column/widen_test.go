package column

import (
	"math/rand/v2"
	"testing"

	"cordwood/proto/schema"
)

// TestIntegersAreKnown removes and seals rows at random, and compares the recorded properties of
// the integers with the integers.
func TestIntegersAreKnown(t *testing.T) {
	values := []int64{0, 1, -1, 1 << 53, -1 << 53, 1<<53 + 1, -1<<53 - 1, 1<<62 + 1}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := &Builder{}
		c := b.Add(schema.Column{Type: schema.Int64})
		c.Pin()
		var rows, past []int64
		for range 60 {
			switch r.IntN(8) {
			case 0:
				n := r.IntN(len(rows) + 1)
				b.Rewind(n)
				rows = rows[:n]
			case 1:
				if len(rows) > 0 && r.IntN(4) == 0 {
					b.Seal()
					past, rows = append(past, rows...), rows[:0]
				}
			default:
				v := values[r.IntN(2+r.IntN(len(values)-1))]
				if v == 0 { // a row without a value
					c.SetNull(b.Rows())
				} else {
					c.SetInt(b.Rows(), v)
				}
				if r.IntN(3) == 0 {
					_ = c.Wide()
				}
				if r.IntN(4) == 0 {
					b.DropRow()
					break
				}
				b.EndRow()
				rows = append(rows, v)
			}
			negative, wide := false, false
			for _, v := range append(append([]int64(nil), past...), rows...) {
				negative = negative || v < 0
				wide = wide || v > 1<<53 || v < -1<<53
			}
			if c.Negative() != negative || c.Wide() != wide {
				t.Fatalf("seed %d: %d and %d: negative is %v, wide is %v", seed, past, rows, c.Negative(), c.Wide())
			}
		}
	}
	u := (&Builder{}).Add(schema.Column{Type: schema.Uint64})
	if u.SetInt(0, -1); !u.Wide() {
		t.Error("the largest UInt64 is not wide")
	}
}

// TestWiden widens a column between its rows, and reverts that.
func TestWiden(t *testing.T) {
	b := &Builder{}
	c := b.Add(schema.Column{ID: 1, Type: schema.Int64})
	end := func() { b.EndRow() }
	c.SetInt(0, 7)
	end()
	end() // null
	c.SetInt(2, -1<<53)
	end()
	for _, finish := range []bool{false, true} { // as after a record that is too large
		c.Widen()
		c.SetFloat(3, 0.5)
		end()
		if finish {
			b.Finish()
		}
		c.Narrow()
		b.Rewind(3)
		if c.Type != schema.Int64 || c.Widened() || c.Int(0) != 7 || !c.IsNull(1) || c.Int(2) != -1<<53 {
			t.Fatalf("finished %v: %s %d %d", finish, c.Type, c.Int(0), c.Int(2))
		}
	}
	c.Widen()
	c.SetFloat(3, 0.5)
	end()
	b.Finish()
	if c.Float(0) != 7 || !c.IsNull(1) || c.Float(2) != -1<<53 || c.Float(3) != 0.5 || !c.Widened() {
		t.Errorf("%v %v %v", c.Float(0), c.Float(2), c.Float(3))
	}

	// Earlier rows are converted to the new type of the column.
	old := &Builder{}
	o := old.Add(schema.Column{ID: 1, Type: schema.Uint64})
	o.SetInt(0, 3)
	old.EndRow()
	old.EndRow()
	b.AppendRows(old)
	b.AppendSome(old, []int{1, 0})
	if c.Float(4) != 3 || !c.IsNull(5) || !c.IsNull(6) || c.Float(7) != 3 {
		t.Errorf("appended are %v and %v", c.Float(4), c.Float(7))
	}
	s := old.Seal()
	o.ToFloat()
	copied, err := s.Builder()
	if err != nil || copied.Cols()[0].Type != schema.Float64 || copied.Cols()[0].Float(0) != 3 {
		t.Errorf("error %v, sealed rows are %v", err, copied.Cols()[0].Float(0))
	}
}
