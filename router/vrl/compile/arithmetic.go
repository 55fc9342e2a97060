package compile

import (
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

const smallestNormal = 2.2250738585072014e-308

// kindText is a value that is shown as its kind in a message.
type kindText struct{ v value.Value }

func (k kindText) String() string {
	const limit = 1 << 10
	if value.Size(k.v, limit) == limit {
		return k.v.Kind().String()
	}
	return kind.Of(k.v).String()
}

// problem is the reason why a calculation failed. It is a format string for the operands. If swap is set, the right
// operand comes first.
type problem struct {
	format string
	swap   bool
	fixed  bool
}

func (p *problem) fail(f *fn.Frame, l, r value.Value) (value.Value, bool) {
	switch {
	case p.fixed:
		return f.Fail(p.format)
	case p.swap:
		return f.Failf(p.format, kindText{r}, kindText{l})
	}
	return f.Failf(p.format, kindText{l}, kindText{r})
}

var (
	errAdd      = &problem{format: "can't add type %v to %v", swap: true}
	errSubtract = &problem{format: "can't subtract type %v from %v", swap: true}
	errMultiply = &problem{format: "can't multiply type %v by %v"}
	errDivide   = &problem{format: "can't divide type %v by %v"}
	errMerge    = &problem{format: "can't merge type %v into %v", swap: true}
	errAnd      = &problem{format: "can't apply an AND to types %v and %v"}
	errZero     = &problem{format: "can't divide by zero", fixed: true}
	errNaN      = &problem{format: "operation would produce NaN", fixed: true}
)

// calculate returns the result of an operation on two numbers.
func calculate(op string, l, r value.Value) (value.Value, *problem) {
	if l.Kind() == value.Int && r.Kind() == value.Int && op != "/" {
		a, b := l.Int(), r.Int()
		switch op {
		case "+":
			return value.NewInt(a + b), nil
		case "-":
			return value.NewInt(a - b), nil
		case "*":
			return value.NewInt(a * b), nil
		}
	}
	a, ok1 := l.Number()
	b, ok2 := r.Number()
	if !ok1 || !ok2 {
		return value.Value{}, typeProblem(op)
	}
	var x float64
	switch op {
	case "+":
		x = a + b
	case "-":
		x = a - b
	case "*":
		x = a * b
	case "/":
		if b == 0 {
			return value.Value{}, errZero
		}
		x = a / b
	default:
		return value.Value{}, typeProblem(op)
	}
	if x != x {
		return value.Value{}, errNaN
	}
	return value.NewFloat(x), nil
}

func typeProblem(op string) *problem {
	switch op {
	case "+":
		return errAdd
	case "-":
		return errSubtract
	case "*":
		return errMultiply
	case "/":
		return errDivide
	}
	return errMerge
}

// arithmetic sets the code of + - * / and |.
func arithmetic(out *expr, op string, l, r *expr) {
	left, right := l.looking(), r.looking()
	both := func(do func(f *fn.Frame, a, b value.Value) (value.Value, bool)) fn.Expr {
		return func(f *fn.Frame) (value.Value, bool) {
			a, ok := left(f)
			if !ok {
				return a, false
			}
			b, ok := right(f)
			if !ok {
				return b, false
			}
			return do(f, a, b)
		}
	}
	numbers := func(f *fn.Frame, a, b value.Value) (value.Value, bool) {
		v, p := calculate(op, a, b)
		if p != nil {
			return p.fail(f, a, b)
		}
		return v, true
	}
	switch op {
	case "|":
		left, right = l.run, r.run // the result keeps parts of the operands
		out.run = both(func(f *fn.Frame, a, b value.Value) (value.Value, bool) {
			if a.Object() == nil || b.Object() == nil {
				return errMerge.fail(f, a, b)
			}
			return mergeObjects(f, a, b)
		})
	case "*":
		out.run = both(func(f *fn.Frame, a, b value.Value) (value.Value, bool) {
			switch {
			case a.Kind() == value.Float && b.Kind() == value.Float:
				if x := a.Float() * b.Float(); x == x {
					return value.NewFloat(x), true
				}
			case a.IsString() && b.Kind() == value.Int:
				return repeat(f, a, b.Int())
			case b.IsString() && a.Kind() == value.Int:
				return repeat(f, b, a.Int())
			}
			return numbers(f, a, b)
		})
	case "+":
		out.run = both(func(f *fn.Frame, a, b value.Value) (value.Value, bool) {
			switch {
			case a.IsString() && b.IsString():
				return f.Concat(a.Str(), b.Str())
			case a.IsString() && b.IsNull():
				return a, true
			case a.IsNull() && b.IsString():
				return b, true
			}
			return numbers(f, a, b)
		})
	case "/":
		out.run = both(func(f *fn.Frame, a, b value.Value) (value.Value, bool) {
			if a.Kind() == value.Float && b.Kind() == value.Float && b.Float() != 0 {
				if x := a.Float() / b.Float(); x == x {
					return value.NewFloat(x), true
				}
			}
			return numbers(f, a, b)
		})
	default:
		out.run = both(numbers)
	}
}

func repeat(f *fn.Frame, s value.Value, n int64) (value.Value, bool) {
	if n <= 0 || s.Len() == 0 {
		return value.NewString(""), true
	}
	if n > int64(1<<40)/int64(s.Len()) {
		n = int64(1<<40) / int64(s.Len()) // far beyond any budget
	}
	size := s.Len() * int(n)
	if !f.Reserve(size) {
		return value.Value{}, false
	}
	b := f.Bytes(size)
	for i := copy(b, s.Str()); i < size; i *= 2 {
		copy(b[i:], b[:i])
	}
	return value.NewBytes(b), true
}

// mergeObjects returns the fields of a, overwritten by the fields of b. It returns false if the budget is too
// small.
func mergeObjects(f *fn.Frame, a, b value.Value) (value.Value, bool) {
	if !f.SpendOnMerge(a, b) {
		return value.Value{}, false
	}
	x, y := a.Object().Share(), b.Object().Share()
	o := value.MakeFields(len(x) + len(y))
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0].Key < y[0].Key:
			o.Add(x[0].Key, x[0].Value)
			x = x[1:]
		case x[0].Key > y[0].Key:
			o.Add(y[0].Key, y[0].Value)
			y = y[1:]
		default:
			o.Add(y[0].Key, y[0].Value)
			x, y = x[1:], y[1:]
		}
	}
	for _, z := range x {
		o.Add(z.Key, z.Value)
	}
	for _, z := range y {
		o.Add(z.Key, z.Value)
	}
	return o.Value(), true
}
