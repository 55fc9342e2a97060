package jsonpath

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"cordwood/router/vrl/value"
)

const store = `{"store":{"book":[
	{"category":"reference","author":"Rees","title":"Sayings","price":8.95},
	{"category":"fiction","author":"Waugh","title":"Sword","price":12.99},
	{"category":"fiction","author":"Melville","title":"Moby","isbn":"0-553","price":8.99},
	{"category":"fiction","author":"Tolkien","title":"Ring","isbn":"0-395","price":22.99}],
	"bicycle":{"color":"red","price":399}},"limit":10}`

func compile(path string) (*Path, error) { return Compile(path, regexp.Compile) }

func TestSelect(t *testing.T) {
	cases := []struct{ path, in, want string }{
		{`$`, `{"a":1}`, `[{"a":1}]`},
		{`$.a.b`, `{"a":{"b":[1]}}`, `[[1]]`},
		{`$.a.x`, `{"a":{"b":[1]}}`, `[]`},
		{`$ ['a'] .b`, `{"a":{"b":2}}`, `[2]`},
		{`$["a\"\u00e4\ud83d\ude00"]`, `{"a\"ä😀":3}`, `[3]`},
		{`$['it\'s']`, `{"it's":3}`, `[3]`},
		{`$.a-b.c`, `{"a-b":{"c":3}}`, `[3]`},
		{`$.ä_1`, `{"ä_1":3}`, `[3]`},
		{`$[1]`, `[5,6,7]`, `[6]`},
		{`$.[1]`, `[5,6,7]`, `[6]`},
		{`$.a.['b'].[*]`, `{"a":{"b":[1,2]}}`, `[1,2]`},
		{`$[-1]`, `[5,6,7]`, `[7]`},
		{`$[-4]`, `[5,6,7]`, `[]`},
		{`$[3]`, `[5,6,7]`, `[]`},
		{`$[0]`, `{"0":1}`, `[]`},
		{`$.a`, `[1]`, `[]`},
		{`$[0,2,0]`, `[5,6,7]`, `[5,7,5]`},
		{`$['a','b']`, `{"a":1,"b":2}`, `[1,2]`},
		{`$[*]`, `{"a":1,"b":[2]}`, `[1,[2]]`},
		{`$.*`, `[1,2]`, `[1,2]`},
		{`$[1:3]`, `[0,1,2,3,4]`, `[1,2]`},
		{`$[5:]`, `[0,1,2]`, `[]`},
		{`$[:-1]`, `[0,1,2]`, `[0,1]`},
		{`$[-2:]`, `[0,1,2]`, `[1,2]`},
		{`$[1:5:2]`, `[0,1,2,3,4]`, `[1,3]`},
		{`$[5:1:-2]`, `[0,1,2,3,4,5,6]`, `[5,3]`},
		{`$[::-1]`, `[0,1,2]`, `[2,1,0]`},
		{`$[::0]`, `[0,1,2]`, `[]`},
		{`$[ 1 : 2 : 9007199254740991 ]`, `[0,1,2]`, `[1]`},
		{`$..a`, `{"a":1,"b":[{"a":2},{"c":{"a":3}}]}`, `[1,2,3]`},
		{`$..[0]`, `[[1,2],[3]]`, `[[1,2],1,3]`},
		{`$..*`, `{"a":{"b":1},"c":[2]}`, `[{"b":1},[2],1,2]`},
		{`$.store.book[*].author`, store, `["Rees","Waugh","Melville","Tolkien"]`},
		{`$..price`, store, `[399,8.95,12.99,8.99,22.99]`},
		{`$..book[?@.isbn].title`, store, `["Moby","Ring"]`},
		{`$..book[?(@.price < 10)].title`, store, `["Sayings","Moby"]`},
		{`$..book[?@.price >= $.limit && @.category == 'fiction'].title`, store, `["Sword","Ring"]`},
		{`$..book[?@.price > 20 || !@.isbn && @.price<10].title`, store, `["Sayings","Ring"]`},
		{`$..book[?!(@.category != "reference")].title`, store, `["Sayings"]`},
		{`$..book[?match(@.author, 'M.*|R.')].author`, store, `["Melville"]`},
		{`$..book[?search(@.author, 'e+')].author`, store, `["Rees","Melville","Tolkien"]`},
		{`$..book[?length(@.title) == 4].title`, store, `["Moby","Ring"]`},
		{`$.store[?count(@.*) == 2].color`, store, `["red"]`},
		{`$.store[?value(@..color) == 'red'].price`, store, `[399]`},
		{`$..book[?@.author == $..author]`, ``, `!only a value can be compared`},
		{`$[?@.a == @.b]`, `[{"a":1,"b":1.0},{"a":1},{}]`, `[{"a":1,"b":1.0},{}]`},
		{`$[?@.a == null]`, `[{"a":null},{}]`, `[{"a":null}]`},
		{`$[?@ == true]`, `[true,1,"true"]`, `[true]`},
		{`$[?@ <= 'b']`, `["a","b","c",1]`, `["a","b"]`},
		{`$[?@ > -1.5e0]`, `[-2,-1,0.5,"x",null]`, `[-1,0.5]`},
		{`$[?@[?@ > 1]]`, `[[1,2],[0]]`, `[[1,2]]`},
		{`$[?@.*]`, `[[1],[],{"a":null},3]`, `[[1],{"a":null}]`},
		{`$[?length(@) > 1]`, `["äb","ä",[1,2],{"a":1,"b":2},7]`, `["äb",[1,2],{"a":1,"b":2}]`},

		{``, ``, `!a path begins with $ at character 1`},
		{`a.b`, ``, `!a path begins with $`},
		{`$.`, ``, `!expected a name or * after the dot, found end of the path at character 3`},
		{`$.1a`, ``, `!expected a name`},
		{`$.-a`, ``, `!expected a name or *`},
		{`$a`, ``, `!unexpected 'a' at character 2`},
		{`$[`, ``, `!expected a quoted name`},
		{`$[a]`, ``, `!expected a quoted name, an index, a slice, * or ?, found 'a' at character 3`},
		{`$[1`, ``, `!expected , or ], found end of the path`},
		{`$[01]`, ``, `!invalid integer "01"`},
		{`$[-0]`, ``, `!invalid integer "-0"`},
		{`$[-]`, ``, `!invalid integer "-"`},
		{`$[9007199254740992]`, ``, `!the number is too large`},
		{`$['a]`, ``, `!the string is not closed at character 3`},
		{`$['\x']`, ``, `!invalid escape`},
		{`$['\ud800']`, ``, `!half of a surrogate pair`},
		{`$["a\'"]`, ``, `!invalid escape`},
		{`$[?]`, ``, `!expected a path that begins with @ or $`},
		{`$[?1]`, ``, `!expected a comparison, found ']'`},
		{`$[?@.a == ]`, ``, `!expected a path`},
		{`$[?(@.a]`, ``, `!expected ), found ']'`},
		{`$[?!@.a == 1]`, ``, `!! must be followed by a test or parentheses`},
		{`$[?@.* == 1]`, ``, `!only a value can be compared`},
		{`$[?length(@.*) == 1]`, ``, `!only a value can be compared`},
		{`$[?length(@)]`, ``, `!expected a comparison`},
		{`$[?match(@, 'a') == true]`, ``, `!only a value can be compared`},
		{`$[?match(@, @.p)]`, ``, `!the pattern of match must be a string`},
		{`$[?match(@, '(')]`, ``, `!missing closing )`},
		{`$[?first(@) == 1]`, ``, `!unknown function first`},
		{`$[?@.a == 1.]`, ``, `!invalid number "1."`},
		{`$[?@.a == tru]`, ``, `!expected a path`},
		{`$[?` + strings.Repeat("(", 100), ``, `!nested more than 16 deep`},
		{`$` + strings.Repeat("[?@", 100), ``, `!nested more than 16 deep`},
		{`$` + strings.Repeat(".a", 100), ``, `!more than 64 segments`},
		{`$['` + strings.Repeat("a", 5000), ``, `!at most 4096 are allowed`},
	}
	for _, c := range cases {
		got := selected(t, c.path, c.in)
		want, isError := strings.CutPrefix(c.want, "!")
		if isError && strings.HasPrefix(got, "!") && strings.Contains(got, want) {
			continue
		}
		if got != c.want {
			t.Errorf("%s of %s\n got %s\nwant %s", c.path, c.in, got, c.want)
		}
	}
}

func selected(t *testing.T, path, in string) string {
	t.Helper()
	p, err := compile(path)
	if err != nil {
		return "!" + err.Error()
	}
	if in == "" {
		return "compiled"
	}
	v, err := value.ParseJSON(in, value.JSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Select(nil, v, -1)
	if err != nil {
		return "!" + err.Error()
	}
	for limit := range len(out) + 1 {
		few, err := p.Select(nil, v, limit)
		if err != nil || !value.Same(value.NewArray(few), value.NewArray(out[:limit])) {
			t.Errorf("%s of %s, at most %d: %v, %v", path, in, limit, few, err)
		}
	}
	return string(value.AppendJSON(nil, value.NewArray(out)))
}

func TestTooManySteps(t *testing.T) {
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	v, err := value.ParseJSON(deep, value.JSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{`$..*..*..*..*..*..*`, `$..[?@..[?@..[?@..[?@..[?@..x]]]]]`} {
		p, err := compile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Select(nil, v, -1); !errors.Is(err, ErrTooManySteps) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`$..book[?(@.price < 10 && !@.x || match(@.a, 'b*'))].title`, store)
	f.Add(`$[1:5:-2,"\u00e4",*]..[?count(@.*) >= length(value(@..a))]`, `[[1],{"a":2}]`)
	f.Fuzz(func(_ *testing.T, path, in string) {
		p, err := compile(path)
		if err != nil {
			return
		}
		v, err := value.ParseJSON(in, value.JSONOptions{})
		if err != nil {
			return
		}
		_, _ = p.Select(nil, v, -1) // must not panic, and end
	})
}

func BenchmarkSelect(b *testing.B) {
	v, err := value.ParseJSON(store, value.JSONOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range []string{`$.store.bicycle.color`, `$.store.book[*].author`, `$..book[?@.price < 10].title`} {
		b.Run(path, func(b *testing.B) {
			p, err := compile(path)
			if err != nil {
				b.Fatal(err)
			}
			var out []value.Value
			b.ReportAllocs()
			for b.Loop() {
				out, _ = p.Select(out[:0], v, -1)
			}
		})
	}
}
