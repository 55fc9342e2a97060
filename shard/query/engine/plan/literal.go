package plan

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"cordwood/proto/schema"
	"cordwood/shard/query/engine/sql"
)

// literal is a value that a condition compares with a column for equality.
type literal struct {
	// typ is the column's type. own are the value's bytes in this type, in the form that the method
	// in returns.
	typ schema.Type
	own [][]byte

	text   []byte  // if typ is a text type
	whole  int64   // if it is an integer
	number float64 // if it is a double
}

// literal returns the column on the left and the literal on the right if their kinds match.
// Otherwise it returns no column. It also returns none if rows without a value read as this
// literal.
func (p *Scope) literal(left, right any) (*schema.Column, *literal) {
	n, _ := left.(sql.Node)
	c := p.Column(n)
	given, _ := right.(sql.Node)
	if c == nil || sql.Text(given, "class") != "CONSTANT" {
		return nil, nil
	}
	value, _ := given["value"].(sql.Node)
	kind, _ := value["type"].(sql.Node)
	l := &literal{typ: c.Type}
	shown := ""
	switch id := sql.Text(kind, "id"); {
	case c.Type == schema.String && id == "VARCHAR":
		s, ok := sql.TextLiteral(given)
		if !ok {
			return nil, nil
		}
		shown, l.text = s, []byte(s)
	case c.Type.IsInteger() && (id == "TINYINT" || id == "SMALLINT" || id == "INTEGER" || id == "BIGINT"):
		i, ok := sql.Integer(given)
		if lo, hi := c.Type.IntRange(); !ok || i < lo || i > hi {
			return nil, nil
		}
		shown, l.whole = strconv.FormatInt(i, 10), i
	case c.Type == schema.Float64:
		f, ok := Float(given)
		if !ok {
			return nil, nil
		}
		shown, l.number = strconv.FormatFloat(f, 'g', -1, 64), f
	default:
		return nil, nil
	}
	if mayFill(c, shown) {
		return nil, nil
	}
	l.own, _ = l.bytes(c.Type)
	return c, l
}

// in returns the bytes that bloom filters hash for the values equal to the literal, for a file
// where the column has type t: the bytes of a text, or the little-endian bytes of a number. It
// returns none if the column cannot have such a value in the file, such as 1.5 among integers. ok
// is false if t does not widen to the column's type, so that nothing is known.
func (l *literal) in(t schema.Type) (values [][]byte, ok bool) {
	if t == l.typ {
		return l.own, true
	}
	return l.bytes(t)
}

func (l *literal) bytes(t schema.Type) (values [][]byte, ok bool) {
	switch {
	case t.Widens(l.typ) == schema.WidensNever:
		return nil, false
	case t.IsBytes():
		return [][]byte{l.text}, true
	case t == schema.Float64:
		for _, f := range zeros(l.number) {
			values = append(values, binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)))
		}
		return values, true
	case t == schema.Float32:
		if float64(float32(l.number)) != l.number {
			return nil, true
		}
		for _, f := range zeros(l.number) {
			values = append(values, binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(f))))
		}
		return values, true
	case !t.IsInteger():
		return nil, false
	}
	i := l.whole
	if l.typ == schema.Float64 {
		if l.number != math.Trunc(l.number) || math.Abs(l.number) > schema.MaxExact {
			return nil, true
		}
		i = int64(l.number)
	}
	if lo, hi := t.IntRange(); i < lo || i > hi {
		return nil, true
	}
	if t == schema.Int64 || t == schema.Uint64 {
		return [][]byte{binary.LittleEndian.AppendUint64(nil, uint64(i))}, true
	}
	return [][]byte{binary.LittleEndian.AppendUint32(nil, uint32(i))}, true
}

// within handles a comparison of a column of doubles with a number, for files that have the column
// in a narrower type. DuckDB casts these values and therefore does not use their bounds.
func (p *Scope) within(kind string, left, right any) predicate {
	n, _ := left.(sql.Node)
	c := p.Column(n)
	if c == nil || c.Type != schema.Float64 || c.Semantic != schema.Field {
		return nil
	}
	given, _ := right.(sql.Node)
	value, ok := Float(given)
	if _, fills := Fill(c); fills || !ok {
		return nil
	}
	var may func(lo, hi float64) bool
	switch kind {
	case "COMPARE_EQUAL":
		may = func(lo, hi float64) bool { return lo <= value && value <= hi }
	case "COMPARE_LESSTHAN":
		may = func(lo, _ float64) bool { return lo < value }
	case "COMPARE_LESSTHANOREQUALTO":
		may = func(lo, _ float64) bool { return lo <= value }
	case "COMPARE_GREATERTHAN":
		may = func(_, hi float64) bool { return hi > value }
	case "COMPARE_GREATERTHANOREQUALTO":
		may = func(_, hi float64) bool { return hi >= value }
	default:
		return nil
	}
	p.used.bounds = true
	id := c.ID
	return func(pr *probe) bool {
		if pr.bounds == nil || pr.identity {
			return true
		}
		lo, hi, ok := pr.bounds(id)
		return !ok || may(lo, hi)
	}
}

// zeros returns the number. For zero it returns both zeros, because they are equal.
func zeros(f float64) []float64 {
	if f == 0 {
		return []float64{0, math.Copysign(0, -1)}
	}
	return []float64{f}
}

// Float returns a literal number as a double, if no rounding is in doubt.
func Float(n sql.Node) (float64, bool) {
	value, _ := n["value"].(sql.Node)
	kind, _ := value["type"].(sql.Node)
	digits, ok := value["value"].(json.Number)
	i, err := digits.Int64()
	const exact = 1_000_000_000_000_000
	if sql.Text(n, "class") != "CONSTANT" || !ok || err != nil || i > exact || i < -exact {
		return 0, false
	}
	switch sql.Text(kind, "id") {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT":
		return float64(i), true
	case "DECIMAL":
		info, _ := kind["type_info"].(sql.Node)
		number, _ := info["scale"].(json.Number)
		scale, err := number.Int64()
		if err != nil || scale < 0 || scale > 15 {
			return 0, false
		}
		return float64(i) / math.Pow10(int(scale)), true
	}
	return 0, false
}
