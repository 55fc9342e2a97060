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
	may := false // the operator itself
	out.kind, may = resultKind(op, &l, &r)
	out.inherit(&l, &r)
	if may && !out.fallible {
		out.fallible = true
		out.why = diag.New(100, "unhandled error", span, "this operation fails if its operands are of other types").
			With(l.span, "this is "+l.kind.String()).With(r.span, "this is "+r.kind.String()).
			Note("assert or convert the operands first, as with int!(…) or to_string(…)\nor give a value for that case: … ?? default")
		if op == "/" {
			out.why = diag.New(100, "unhandled error", span, "this division fails if the divisor is zero").
				With(r.span, "only a number other than zero that is known at compile time is sure not to be").
				Note("give a value for that case: … ?? default")
		}
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

func mayBeObject(k kind.Kind) bool { return k.Has(kind.ObjectBit) || k.IsNever() }

// resultKind tells the kind of an operation's result, and whether it may fail.
func resultKind(op string, l, r *expr) (kind.Kind, bool) {
	a, b := l.kind, r.kind
	isInt := func(k kind.Kind) bool { return k.Is(kind.IntegerBit) }
	isText := func(k kind.Kind) bool { return k.Is(kind.StringBit) }
	isFloat := func(k kind.Kind) bool { return k.Is(kind.FloatBit) }
	switch op {
	case "==", "!=":
		return kind.Boolean, false
	case "<", "<=", ">", ">=":
		both := a.Union(b)
		return kind.Boolean, !both.Within(numberBits) && !both.Is(kind.StringBit) && !both.Is(kind.TimestampBit)
	case "+":
		switch {
		case isText(a) || isText(b):
			return kind.String, !a.Within(textBits) || !b.Within(textBits)
		case isFloat(a) || isFloat(b):
			return kind.Float, !a.Within(numberBits) || !b.Within(numberBits)
		case isInt(a) && isInt(b):
			return kind.Integer, false
		}
		return kind.Or(kind.String, kind.Number), true
	case "-":
		switch {
		case isFloat(a) || isFloat(b):
			return kind.Float, !a.Within(numberBits) || !b.Within(numberBits)
		case isInt(a) && isInt(b):
			return kind.Integer, false
		}
		return kind.Number, true
	case "*":
		switch {
		case isText(a) && isInt(b), isInt(a) && isText(b):
			return kind.String, false
		case isFloat(a) || isFloat(b):
			return kind.Float, !a.Within(numberBits) || !b.Within(numberBits)
		case isInt(a) && isInt(b):
			return kind.Integer, false
		}
		return kind.Or(kind.String, kind.Number), true
	case "/":
		x, ok := r.value.Number()
		safe := r.known && ok && (x >= smallestNormal || x <= -smallestNormal) && x-x == 0
		return kind.Float, !safe || !isInt(a) && !isFloat(a)
	case "|":
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
	return kind.Any, true
}

const smallestNormal = 2.2250738585072014e-308

// kindText is a value that is shown as its kind, when it is shown.
type kindText struct{ v value.Value }

func (k kindText) String() string {
	const limit = 1 << 10
	if value.Size(k.v, limit) == limit {
		return k.v.Kind().String()
	}
	return kind.Of(k.v).String()
}

// problem is why a calculation failed: a format for the operands, the first of which is
// the right one if swap is set.
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

// calculate does the arithmetic of numbers.
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
		left, right = l.run, r.run // what is in them is kept
		out.run = both(func(f *fn.Frame, a, b value.Value) (value.Value, bool) {
			if a.Object() == nil || b.Object() == nil {
				return errMerge.fail(f, a, b)
			}
			return mergeObjects(a, b), true
		})
	case "*":
		out.run = both(func(f *fn.Frame, a, b value.Value) (value.Value, bool) {
			switch {
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

// mergeObjects returns the fields of a with those of b put over them.
func mergeObjects(a, b value.Value) value.Value {
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
	return o.Value()
}

// fromTest makes the code of a boolean expression from its test.
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
			if a.Kind() >= value.Array && a.Kind() == b.Kind() && !f.SpendOn(a) {
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

func (c *compiler) logical(n *syntax.Binary) expr {
	l := c.node(n.Left)
	mark := c.mark()
	r := c.node(n.Right)
	falsy := l.known && l.value.IsFalsy() || l.kind.Is(kind.NullBit)
	truthy := l.known && l.value.IsTrue()
	after := c.rewind(mark)
	out := expr{span: n.Span()}
	always, never := truthy, falsy // of the right side
	if n.Op == "||" {
		always, never = falsy, truthy
	}
	switch {
	case always:
		c.apply(after)
	case !never:
		c.merge(after)
	}
	left, right := l.looking(), r.looking()
	if n.Op == "&&" {
		out.kind = kind.Boolean
		out.inherit(&l)
		if !never {
			out.inherit(&r)
		}
		if !out.fallible && !falsy && !truthy && (!l.kind.Within(truthBits) || !r.kind.Within(truthBits)) {
			out.fallible = true
			out.why = diag.New(100, "unhandled error", n.Span(), "this fails if one side is neither a boolean nor null").
				With(l.span, "this is "+l.kind.String()).With(r.span, "this is "+r.kind.String()).
				Note("compare the value, as in … == true, or give a value for that case: (… && …) ?? false")
		}
		out.test = func(f *fn.Frame) (bool, bool) {
			a, ok := left(f)
			if !ok || a.IsFalsy() {
				return false, ok
			}
			b, ok := right(f)
			if !ok {
				return false, false
			}
			if a.Kind() != value.Bool || b.Kind() != value.Bool && !b.IsNull() {
				errAnd.fail(f, a, b)
				return false, false
			}
			return b.IsTrue(), true
		}
		if l.kind.Within(truthBits) && r.kind.Is(kind.BooleanBit) {
			a, b := l.testing(), r.testing()
			out.test = func(f *fn.Frame) (bool, bool) {
				if truth, ok := a(f); !truth || !ok {
					return false, ok
				}
				return b(f)
			}
		}
		out.run = fromTest(out.test)
		return out
	}
	switch {
	case truthy || !l.kind.Has(kind.NullBit|kind.BooleanBit|kind.UndefinedBit):
		out.kind = l.kind
		out.inherit(&l)
	case falsy:
		out.kind = r.kind.Defined()
		out.inherit(&l, &r)
	default:
		out.kind = l.kind.Without(kind.NullBit | kind.UndefinedBit).Union(r.kind.Defined())
		out.inherit(&l, &r)
	}
	either := func(left, right fn.Expr) fn.Expr {
		return func(f *fn.Frame) (value.Value, bool) {
			if v, ok := left(f); !ok || !v.IsFalsy() {
				return v, ok
			}
			return right(f)
		}
	}
	out.look = either(left, right)
	out.run = either(l.run, r.run)
	a, b := l.testing(), r.testing()
	if l.kind.Within(truthBits) {
		out.test = func(f *fn.Frame) (bool, bool) {
			if truth, ok := a(f); truth || !ok {
				return truth, ok
			}
			return b(f)
		}
	}
	return out
}

func (c *compiler) coalesce(n *syntax.Binary) expr {
	l := c.node(n.Left)
	mark := c.mark()
	r := c.node(n.Right)
	c.merge(c.rewind(mark))
	out := expr{span: n.Span(), kind: l.kind.Defined().Union(r.kind.Defined())}
	if !l.fallible && !l.kind.IsNever() {
		c.report(diag.New(651, "unnecessary error coalescing operation", l.span, "this expression can't fail").
			With(n.OpSpan, "remove this operator").With(r.span, "this never takes effect").
			Note("?? handles failures only; for null use `if %s == null { … }`", "value"))
	}
	out.inherit(&r)
	either := func(left, right fn.Expr) fn.Expr {
		return func(f *fn.Frame) (value.Value, bool) {
			v, ok := left(f)
			if ok || !f.Caught() {
				return v, ok
			}
			return right(f)
		}
	}
	out.run = either(l.run, r.run)
	out.look = either(l.looking(), r.looking())
	return out
}

func (c *compiler) not(n *syntax.Not) expr {
	x := c.node(n.X)
	out := expr{span: n.Span(), kind: kind.Boolean}
	out.inherit(&x)
	if !x.kind.Is(kind.BooleanBit) && !x.kind.IsNever() {
		c.report(diag.New(660, "non-boolean negation", n.OpSpan, "only booleans can be negated").
			With(x.span, "this is "+x.kind.Defined().String()).
			Note("compare it, as in … != true, or assert the type with bool!(…)"))
		return broken(n.Span())
	}
	if x.known {
		e := constant(n.Span(), value.NewBool(!x.value.IsTrue()))
		return e
	}
	run := x.looking()
	out.test = func(f *fn.Frame) (bool, bool) {
		v, ok := run(f)
		if ok && v.Kind() != value.Bool {
			f.FailKind("boolean", v)
			return false, false
		}
		return !v.IsTrue(), ok
	}
	if x.test != nil {
		test := x.test
		out.test = func(f *fn.Frame) (bool, bool) {
			truth, ok := test(f)
			return !truth, ok
		}
	}
	out.run = fromTest(out.test)
	return out
}
