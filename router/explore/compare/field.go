package compare

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"cordwood/router/explore/scope"
)

// field is a field that is being compared.
type field struct {
	name    string
	exprs   map[uint64]string
	numbers bool
	score   float64
	// rest has the rows of a and b with values that differ by chance only. Together they are one value.
	rest [2]int64
	// rare has the rows with values that occur too rarely to be compared.
	rare   int64
	values []Value
	most   int
}

// from returns a FROM clause with the rows of both sets. a and b say which set a row belongs to. The fields are
// named f0, f1 and so on.
func (c *comparer) from(list []*field) string {
	var parts []string
	for i, t := range c.a.Tables {
		other := c.b.Tables[i]
		inA := scope.Join(t.Condition, c.a.Times(t))
		inB := scope.Join(other.Condition, c.b.Times(other))
		if c.req.Rest {
			inB = scope.Join(inB, "NOT coalesce(("+inA+"), FALSE)")
		}
		columns := []string{"(" + inA + ") AS a", "(" + inB + ") AS b"}
		for k, f := range list {
			columns = append(columns, f.exprs[t.Def.ID]+" AS f"+strconv.Itoa(k))
		}
		parts = append(parts, "SELECT "+strings.Join(columns, ", ")+" FROM "+
			c.part.Rows(t, "(("+inA+") OR ("+inB+"))"))
	}
	return " FROM (" + strings.Join(parts, " UNION ALL ") + ") AS u"
}

// rarely is the number of rows below which a value says nothing: it may be in one of two equal sets by chance.
const rarely = 5

// scattered reports whether most rows have a value that hardly another row has. Such a field seems alike in any two
// sets, even if they have no value in common.
func (f *field) scattered(of *Answer) bool { return !f.numbers && 2*f.rare > of.A.Rows+of.B.Rows }

// add adds the counts of a value. Null is a value.
func (f *field) add(value json.RawMessage, a, b int64, of *Answer) {
	if a+b < rarely && string(value) != "null" {
		f.rare += a + b
	}
	if by := difference(a, b, of); by > 0 {
		f.score += by
	} else {
		f.rest[0] += a
		f.rest[1] += b
	}
	if f.most < len(f.values)+1 && !f.numbers {
		least := 0
		for i, v := range f.values {
			if v.A+v.B < f.values[least].A+f.values[least].B {
				least = i
			}
		}
		if f.values[least].A+f.values[least].B >= a+b {
			return
		}
		f.values = slices.Delete(f.values, least, least+1)
	}
	f.values = append(f.values, Value{value, a, b})
}

// difference returns the contribution of a value with these counts to the divergence. It returns 0 if chance
// explains the counts: a field with many rare values would otherwise seem to differ between any two sets.
func difference(a, b int64, of *Answer) float64 {
	if chance(a, b, of) < beyondChance {
		return 0
	}
	return divergence(share(a, of.A.Rows), share(b, of.B.Rows))
}

// chance returns the G statistic of the counts of one value, which has about a chi-squared distribution with one
// degree of freedom if both sets have the value equally often.
func chance(a, b int64, of *Answer) float64 {
	both, rows := a+b, float64(of.A.Rows+of.B.Rows)
	part := func(n, of int64) float64 {
		if n == 0 {
			return 0
		}
		return float64(n) * math.Log(float64(n)*rows/(float64(of)*float64(both)))
	}
	return 2 * (part(a, of.A.Rows) + part(b, of.B.Rows))
}

func share(n, of int64) float64 { return float64(n) / float64(max(of, 1)) }

// divergence returns the contribution of one value to the Jensen-Shannon divergence.
func divergence(p, q float64) float64 {
	m := (p + q) / 2
	d := 0.0
	for _, x := range []float64{p, q} {
		if x > 0 {
			d += x * math.Log2(x/m) / 2
		}
	}
	return d
}
