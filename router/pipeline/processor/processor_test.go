package processor

import (
	"strings"
	"testing"

	"cordwood/router/pipeline/document"
	"cordwood/router/vrl/value"
)

// runCase is a test of one processor: options as YAML, a record as JSON, and the expected record. If want begins
// with !, an error that contains the rest is expected. Without a record, compiling must fail.
type runCase struct{ name, options, record, want string }

// run runs the cases of one processor.
func run(t *testing.T, processor string, cases []runCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := runOne(t, processor, c.options, c.record, Env{})
			want, isError := strings.CutPrefix(c.want, "!")
			if isError && strings.HasPrefix(got, "!") && strings.Contains(got, want) {
				return
			}
			if got != c.want {
				t.Errorf("%s of %s\n got %s\nwant %s", c.options, c.record, got, c.want)
			}
		})
	}
}

// compileOne compiles a processor with options in YAML.
func compileOne(processor, options string, env Env, names *Names) (Step, error) {
	root, err := document.Parse([]byte(options))
	if err != nil {
		return Step{}, err
	}
	o := &Options{Map: root.Map(), Env: env, names: names, list: &List{}}
	kind, ok := Find(processor)
	if !ok {
		panic("no processor " + processor)
	}
	apply := kind.Compile(o)
	o.Done()
	return Step{Name: processor, Apply: apply}, root.Err()
}

func runOne(t *testing.T, processor, options, record string, env Env) string {
	t.Helper()
	// The options are wrapped as in a pipeline, so that faults have their paths.
	if strings.HasPrefix(options, "{") || !strings.Contains(options, "\n") && !strings.HasPrefix(options, "-") {
		options = strings.TrimSuffix(strings.TrimPrefix(options, "{"), "}")
		options = "- " + processor + ": {" + options + "}"
	} else {
		options = "- " + processor + ":\n    " + strings.ReplaceAll(options, "\n", "\n    ")
	}
	root, err := document.Parse([]byte(options))
	if err != nil {
		t.Fatalf("%s: %v", options, err)
	}
	var names Names
	list := CompileList(root, env, &names)
	if err := root.Err(); err != nil {
		return "!" + strings.ReplaceAll(err.Error(), "[0].", "")
	}
	if record == "" {
		return "compiled"
	}
	v, err := value.ParseJSON(record, value.JSONOptions{})
	if err != nil {
		t.Fatalf("%s: %v", record, err)
	}
	v.Freeze() // the original record must not change
	before := string(value.AppendJSON(nil, v))
	rec := NewRecord(&names)
	got := ""
	for range 2 { // the second time with memory from the first
		rec.Value = v
		if err := list.Steps[0].Apply(rec); err != nil {
			got = "!" + Located(err, &list.Steps[0], 0).Error()
			continue
		}
		got = string(value.AppendJSON(nil, rec.Value))
	}
	if after := string(value.AppendJSON(nil, v)); after != before {
		t.Errorf("the original record was changed to %s", after)
	}
	return got
}

// bench measures a processor on one record.
func bench(b *testing.B, processor, options, record string) {
	b.Helper()
	var names Names
	step, err := compileOne(processor, options, Env{}, &names)
	if err != nil {
		b.Fatal(err)
	}
	v, err := value.ParseJSON(record, value.JSONOptions{})
	if err != nil {
		b.Fatal(err)
	}
	rec := NewRecord(&names)
	fields := value.MakeFields(64)
	b.ReportAllocs()
	for b.Loop() {
		// Build the record again in reused memory, like a runner.
		fields.Recycle()
		for _, f := range v.Object().Peek() {
			fields.Add(f.Key, f.Value)
		}
		rec.Value = fields.Value()
		if err := step.Apply(rec); err != nil {
			b.Fatal(err)
		}
	}
}
