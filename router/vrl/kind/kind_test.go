package kind

import (
	"math"
	"math/rand/v2"
	"testing"

	"cordwood/router/vrl/value"
)

func parse(t *testing.T, s string) value.Value {
	t.Helper()
	v, err := value.ParseJSON(s, value.JSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		k    Kind
		want string
	}{
		{Never, "never"},
		{Any, "any"},
		{Value, "any"},
		{String, "string"},
		{Or(Null, String), "string or null"},
		{Or(Boolean, Float, Integer), "integer, float or boolean"},
		{Object, "object"},
		{Of(parse(t, `{"b c":[1,"x"],"a":1}`)), `{ a: integer, "b c": [integer, string] }`},
		{Or(Array, String), "string or array"},
		{Undefined.Union(String), "string or undefined"},
	} {
		if got := c.k.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestPaths(t *testing.T) {
	a, b := value.Name("a"), value.Name("b")
	k := Of(parse(t, `{"a":{"b":1},"l":["x",2]}`))
	for _, c := range []struct {
		name string
		got  Kind
		want string
	}{
		{"known field", k.Get(value.Path{a, b}), "integer"},
		{"missing field", k.Get(value.Path{b}), "undefined"},
		{"element", k.Get(value.Path{value.Name("l"), value.Index(-1)}), "integer"},
		{"beyond the end", k.Get(value.Path{value.Name("l"), value.Index(2)}), "undefined"},
		{"of any", Object.Get(value.Path{a, b}), "any"},
		{"insert", k.Insert(value.Path{a, value.Name("c")}, String).Get(value.Path{a}), "{ b: integer, c: string }"},
		{"insert into a scalar", String.Insert(value.Path{a}, Null), "{ a: null }"},
		{
			"insert past the end",
			k.Insert(value.Path{value.Name("l"), value.Index(3)}, Boolean).Get(value.Path{value.Name("l")}),
			"[string, integer, null, boolean]",
		},
		{"insert before the start", ArrayOf(String).Insert(value.Path{value.Index(-3)}, Boolean), "[boolean, null, string]"},
		{"insert far before the start", ArrayOf(String).Insert(value.Path{value.Index(math.MinInt)}, Boolean), "array"},
		{"insert far past the end", ArrayOf(String).Insert(value.Path{value.Index(math.MaxInt)}, Boolean), "array"},
		{"remove", k.Remove(value.Path{a, b}, false).Get(value.Path{a}), "object"},
		{"remove and compact", k.Remove(value.Path{a, b}, true).Get(value.Path{a}), "undefined"},
		{"remove of any", Object.Remove(value.Path{a}, false).Get(value.Path{a}), "undefined"},
		{
			"merge", ObjectOf(Field{"a", String}, Field{"b", String}).Merge(ObjectOf(Field{"b", Null})),
			"{ a: string, b: null }",
		},
		{
			"union of objects", ObjectOf(Field{"a", String}).Union(ObjectOf(Field{"b", Null})),
			"{ a: string or undefined, b: null or undefined }",
		},
	} {
		if got := c.got.String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestIncludes(t *testing.T) {
	for _, c := range []struct {
		name string
		k, o Kind
		want bool
	}{
		{"any", Any, Of(parse(t, `{"a":[1]}`)), true},
		{"JSON has no timestamps", JSON, Timestamp, false},
		{"any in JSON", JSON, Any, false},
		{"object of anything", Object, ObjectAll(String), true},
		{"elements", ArrayAll(String), ArrayOf(String, String), true},
		{"an element of another kind", ArrayAll(String), ArrayOf(String, Integer), false},
		{"undefined is not a null", Null, Undefined, false},
	} {
		if got := c.k.Includes(c.o); got != c.want {
			t.Errorf("%s: got %t", c.name, got)
		}
	}
	if !Never.Intersects(String) || String.Intersects(Integer) || !Or(String, Null).Intersects(Or(Null, Integer)) {
		t.Error("Intersects")
	}
}

// The results of operations on random values have the inferred kinds.
func TestAgainstValues(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	segment := func() value.Segment {
		if r.IntN(3) == 0 {
			return value.Index(r.IntN(5) - 2)
		}
		return value.Name(string(rune('a' + r.IntN(3))))
	}
	path := func() value.Path {
		p := make(value.Path, r.IntN(3))
		for i := range p {
			p[i] = segment()
		}
		return p
	}
	var make3 func(depth int) value.Value
	make3 = func(depth int) value.Value {
		switch n := r.IntN(6); {
		case n < 2 || depth == 0:
			return []value.Value{value.NewInt(1), value.NewString("s"), {}, value.NewBool(true)}[r.IntN(4)]
		case n == 2:
			list := make([]value.Value, r.IntN(4))
			for i := range list {
				list[i] = make3(depth - 1)
			}
			return value.NewArray(list)
		}
		o := value.MakeFields(0)
		for range r.IntN(4) {
			o.Set(string(rune('a'+r.IntN(3))), make3(depth-1))
		}
		return o.Value()
	}
	for range 5000 {
		v := make3(3)
		// The known kind of v: exactly its kind, or that and other kinds.
		k := Of(v)
		for range r.IntN(3) {
			k = k.Union(Of(make3(2)))
		}
		if r.IntN(6) == 0 {
			k = k.WithOthers(Value)
		}
		for range 4 {
			before := v.String()
			p := path()
			what := "insert"
			if r.IntN(2) == 0 {
				x := make3(2)
				if err := value.Insert(&v, p, x); err != nil {
					t.Fatal(err)
				}
				k = k.Insert(p, Of(x))
			} else {
				compact := r.IntN(2) == 0
				what = "remove"
				value.Remove(&v, p, compact)
				k = k.Remove(p, compact)
			}
			if !k.Includes(Of(v)) {
				t.Fatalf("%s at %s: %s becomes %s, which is not of kind %s", what, p, before, v, k.Debug())
			}
			q := path()
			got, ok := v.Get(q)
			kq := Of(got)
			if !ok {
				kq = Undefined
			}
			if !k.Get(q).Includes(kq) {
				t.Fatalf("%s at %s: %s is not of kind %s, inferred from %s", v, q, kq, k.Get(q), k.Debug())
			}
		}
	}
}
