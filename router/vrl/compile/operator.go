package compile

import (
	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
)

const (
	numberBits = kind.IntegerBit | kind.FloatBit
	textBits   = kind.StringBit | kind.NullBit
	truthBits  = kind.BooleanBit | kind.NullBit
)

func (c *compiler) binary(n *syntax.Binary) expr {
	switch n.Op {
	case "&&", "||":
		return c.logical(n)
	case "??":
		return c.coalesce(n)
	}
	l := c.node(n.Left)
	r := c.node(n.Right)
	return c.operate(n.Op, n.Span(), l, r)
}

// operate compiles an operator that evaluates both of its operands.
func (c *compiler) operate(op string, span diag.Span, l, r expr) expr {
	out := expr{span: span}
	if op == "|" && (!mayBeObject(l.kind) || !mayBeObject(r.kind)) {
		c.report(diag.New(652, "only objects can be merged", span, "both sides must be objects").
			With(l.span, "this is "+l.kind.Defined().String()).With(r.span, "this is "+r.kind.Defined().String()))
		return broken(span)
	}
	may := false // whether the operator itself may fail
	out.kind, may = resultKind(op, &l, &r)
	out.inherit(&l, &r)
	if may && !out.fallible {
		out.fallible = true
		out.why = whyFallible(op, span, &l, &r)
	}
	if l.known && r.known && op != "==" && op != "!=" && l.kind.Within(numberBits) && r.kind.Within(numberBits) {
		if v, problem := calculate(op, l.value, r.value); problem == nil {
			e := constant(span, v)
			e.kind, e.fallible, e.why = out.kind, out.fallible, out.why
			return e
		}
	}
	switch op {
	case "==", "!=":
		c.equality(&out, op == "==", &l, &r)
	case "<", "<=", ">", ">=":
		comparison(&out, op, &l, &r)
	default:
		arithmetic(&out, op, &l, &r)
	}
	return out
}

// whyFallible returns the finding about an operator that may fail.
func whyFallible(op string, span diag.Span, l, r *expr) *diag.Diagnostic {
	if op == "/" {
		return diag.New(100, "unhandled error", span, "this division fails if the divisor is zero").
			With(r.span, "only a nonzero number that is known at compile time is certainly not zero").
			Note("give a value for the failure: … ?? default")
	}
	return diag.New(100, "unhandled error", span, "this operation fails if its operands are of other types").
		With(l.span, "this is "+l.kind.String()).With(r.span, "this is "+r.kind.String()).
		Note("assert or convert the operands first, as with int!(…) or to_string(…)\nor give a value for the failure: … " +
			"?? default")
}

func mayBeObject(k kind.Kind) bool { return k.Has(kind.ObjectBit) || k.IsNever() }

// resultKind returns the kind of an operation's result, and whether it may fail.
func resultKind(op string, l, r *expr) (result kind.Kind, fallible bool) {
	a, b := l.kind, r.kind
	switch op {
	case "==", "!=":
		return kind.Boolean, false
	case "<", "<=", ">", ">=":
		both := a.Union(b)
		return kind.Boolean, !both.Within(numberBits) && !both.Is(kind.StringBit) && !both.Is(kind.TimestampBit)
	case "+":
		if a.Is(kind.StringBit) || b.Is(kind.StringBit) {
			return kind.String, !a.Within(textBits) || !b.Within(textBits)
		}
		return numberKind(a, b, kind.Or(kind.String, kind.Number))
	case "-":
		return numberKind(a, b, kind.Number)
	case "*":
		if a.Is(kind.StringBit) && b.Is(kind.IntegerBit) || a.Is(kind.IntegerBit) && b.Is(kind.StringBit) {
			return kind.String, false
		}
		return numberKind(a, b, kind.Or(kind.String, kind.Number))
	case "/":
		return kind.Float, !isSafeDivisor(r) || !a.Is(kind.IntegerBit) && !a.Is(kind.FloatBit)
	case "|":
		return mergeKind(a, b)
	}
	return kind.Any, true
}

// numberKind returns the kind of an operation's result if both operands are numbers. If it is not known that both are
// numbers, it returns otherwise.
func numberKind(a, b, otherwise kind.Kind) (result kind.Kind, fallible bool) {
	switch {
	case a.Is(kind.FloatBit) || b.Is(kind.FloatBit):
		return kind.Float, !a.Within(numberBits) || !b.Within(numberBits)
	case a.Is(kind.IntegerBit) && b.Is(kind.IntegerBit):
		return kind.Integer, false
	}
	return otherwise, true
}

// isSafeDivisor reports whether x is a constant by which any number can be divided.
func isSafeDivisor(x *expr) bool {
	n, ok := x.value.Number()
	return x.known && ok && (n >= smallestNormal || n <= -smallestNormal) && n-n == 0
}

// mergeKind returns the kind of the merge of two objects, and whether the merge may fail.
func mergeKind(a, b kind.Kind) (result kind.Kind, fallible bool) {
	switch {
	case a.Is(kind.ObjectBit) && b.Is(kind.ObjectBit):
		return a.Merge(b), false
	case a.Is(kind.ObjectBit) && b.IsNever():
		return a, false
	case b.Is(kind.ObjectBit) && a.IsNever():
		return b, false
	}
	return kind.Object, true
}

// fromTest returns the code of a boolean expression from its test.
func fromTest(test func(*fn.Frame) (bool, bool)) fn.Expr {
	return func(f *fn.Frame) (value.Value, bool) {
		truth, ok := test(f)
		return value.NewBool(truth), ok
	}
}

func (c *compiler) equality(out *expr, want bool, l, r *expr) {
	left, right := l.looking(), r.looking()
	if l.known && !r.known {
		left, right, l, r = right, left, r, l
	}
	switch {
	case r.known && r.kind.Is(kind.StringBit):
		s := r.value.Str()
		out.test = func(f *fn.Frame) (bool, bool) {
			v, ok := left(f)
			return (v.IsString() && v.Str() == s) == want, ok
		}
	case r.known && r.kind.Is(kind.NullBit):
		out.test = func(f *fn.Frame) (bool, bool) {
			v, ok := left(f)
			return v.IsNull() == want, ok
		}
	default:
		out.test = func(f *fn.Frame) (bool, bool) {
			a, ok := left(f)
			if !ok {
				return false, false
			}
			b, ok := right(f)
			if !ok {
				return false, false
			}
			if a.Kind() == b.Kind() && !f.SpendOn(a) {
				return false, false
			}
			return value.Equal(a, b) == want, true
		}
	}
	out.run = fromTest(out.test)
}

func comparison(out *expr, op string, l, r *expr) {
	left, right := l.looking(), r.looking()
	var less, equal, more bool
	switch op {
	case "<":
		less = true
	case "<=":
		less, equal = true, true
	case ">":
		more = true
	default:
		more, equal = true, true
	}
	result := [3]bool{less, equal, more}
	fail := &problem{format: "can't compare %v " + op + " %v"}
	out.test = func(f *fn.Frame) (bool, bool) {
		a, ok := left(f)
		if !ok {
			return false, false
		}
		b, ok := right(f)
		if !ok {
			return false, false
		}
		if !f.SpendOn(a) {
			return false, false
		}
		order, ok := value.Compare(a, b)
		if !ok {
			fail.fail(f, a, b)
			return false, false
		}
		return result[order+1], true
	}
	if x, constant := r.value.Int(), r.value; r.known && r.kind.Is(kind.IntegerBit) {
		out.test = func(f *fn.Frame) (bool, bool) {
			a, ok := left(f)
			if !ok {
				return false, false
			}
			if a.Kind() != value.Int {
				if order, ok := value.Compare(a, constant); ok {
					return result[order+1], true
				}
				fail.fail(f, a, constant)
				return false, false
			}
			switch i := a.Int(); {
			case i < x:
				return less, true
			case i > x:
				return more, true
			}
			return equal, true
		}
	}
	out.run = fromTest(out.test)
}
