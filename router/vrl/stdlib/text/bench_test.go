package text_test

import (
	"testing"

	"cordwood/router/vrl"
	"cordwood/router/vrl/value"
)

// Functions that programs call for every event. Each program is one call on fields of the event. "nothing"
// measures the run itself.
func BenchmarkFunctions(b *testing.B) {
	event, err := value.ParseJSON(`{"line":"GET /static/app.js HTTP/1.1 from 203.0.113.9 took `+
		`12ms","n":"12345","user_agent":"curl/8.5.0",`+
		`"tags":["env:prod","team:core"],"nested":{"a":{"b":1,"c":"x"},"d":null}}`, value.JSONOptions{})
	if err != nil {
		b.Fatal(err)
	}
	event.Freeze()
	for _, c := range []struct{ name, source string }{
		{"nothing", `.line`},
		{"contains", `contains(string!(.line), "HTTP")`},
		{"starts_with", `starts_with(string!(.line), "GET ")`},
		{"starts_with_fold", `starts_with(string!(.line), "get ", case_sensitive: false)`},
		{"downcase", `downcase(string!(.line))`},
		{"to_int", `to_int!(.n)`},
		{"split", `split(string!(.line), " ")`},
		{"replace", `replace(string!(.line), " ", "_")`},
		{"replace_regex", `replace(string!(.line), r'\d+', "N")`},
		{"match", `match(string!(.line), r'took \d+ms')`},
		{"redact", `redact(string!(.line), filters: [r'\d+\.\d+\.\d+\.\d+'])`},
		{"snakecase", `snakecase("userAgentString")`},
		{"flatten", `flatten(object!(.nested))`},
		{"compact", `compact(object!(.nested))`},
		{"merge", `merge(object!(.nested), {"x": 1})`},
		{"map_values", `map_values(array!(.tags)) -> |v| { v }`},
		{"set", `set!(., ["nested", "a", "b"], 2)`},
		{"includes", `includes(array!(.tags), "team:core")`},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, _, err := vrl.Compile(c.source, vrl.Options{})
			if err != nil {
				b.Fatal(err)
			}
			meta := value.NewObject(value.MakeFields(0))
			b.ReportAllocs()
			for b.Loop() {
				e := event
				if _, err := p.Run(&e, &meta); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
