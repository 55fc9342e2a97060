package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"cordwood/proto/column"
	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
)

// formPrograms change records in many ways: they add, remove, copy and merge fields and objects.
var formPrograms = []string{
	".time = parse_timestamp(.time, format: \"%+\") ?? t'2020-01-01T00:00:00Z'\n.upstream_addr = .upstream.addr\n" +
		"del(.upstream)\n.x.y.z = .status\n.",
	"del(.geo)\n.geo = .path\n.geo2 = del(.path)\ndel(.geo)\n.",
	". = map_keys(object!(.), recursive: true) -> |k| { k + \"_k\" }\n.",
	"x = .\n.a = 1\n.copy = x\ndel(.copy.method)\n.copy.new = x.path\n.",
	". |= {\"b\": 2, \"method\": \"M\", \"zz\": .status}\n.",
	"for_each(object!(.)) -> |k, v| { .n = k\n del(.b) }\n.",
	"for_each(object!(.)) -> |k, v| { . = set!(., [k + \"_\"], v)\n del(.a) }\n.",
	"if exists(.referer) { .r = .referer; del(.referer) } else { .r = null }\n.svc_suffix = \"_\" + " +
		"(to_string(.host) ?? \"none\")\n.",
	".list = [.a, .b, .upstream]\n.list[1] = .path\n.list2 = .list\n.list2[0] = .geo\n.",
	"a = {}\na.b = .upstream\na.b.addr = \"changed\"\n.res = a\n.",
	"if .status == 200 { return [., {\"only\": .path}] }\n.q = split(string(.path) ?? \"\", \"/\", limit: 3)[0]\n.",
	"del(.upstream.addr, compact: true)\n.upstream.status = 3\n.keys = keys(object!(.))\n.",
	". = filter(object!(.)) -> |k, v| { k != \"a\" }\n.length = length(object!(.))\n.j = encode_json(.)\n.",
	"%seen = .path\n%seen.status = .status\n.from_meta = %seen\ndel(.status)\ndel(%seen)\n.rest = %\n.",
	"for_each(object!(.)) -> |k, v| { del(.time); del(.host); del(.path); del(.method); del(.a); del(.b); .a = v }\n.",
	"abort_if = .status == 400\nif abort_if { abort }\n.status = int!(.status) + 1\n.",
}

var formKeys = []string{
	"time", "host", "path", "method", "status", "upstream", "geo", "referer", "request_time", "a", "b", "zz", "copy",
	"svc_ttl", `q\u0041`, "", "ä", "bytes",
}

// randomRecord returns a record whose keys come in changing order, sometimes twice or with escapes, and whose values
// sometimes have the wrong type.
func randomRecord(r *rand.Rand) string {
	var parts []string
	from := r.IntN(len(formKeys))
	for i := range r.IntN(14) {
		key := formKeys[(from+i)%len(formKeys)]
		if r.IntN(10) == 0 {
			key = formKeys[r.IntN(len(formKeys))]
		}
		v := usualValue(r, key)
		if r.IntN(40) == 0 {
			v = randomValue(r, 0)
		}
		parts = append(parts, `"`+key+`":`+v)
	}
	return "{" + strings.Join(parts, []string{",", " , "}[r.IntN(8)/7]) + "}"
}

func usualValue(r *rand.Rand, key string) string {
	switch key {
	case "status", "bytes", "a":
		return fmt.Sprint(100 * r.IntN(6))
	case "request_time", "zz":
		return fmt.Sprintf("%d.%d1", r.IntN(9), r.IntN(99))
	case "upstream", "geo":
		return fmt.Sprintf(`{"addr":"x%d","status":%d,"response_time":0.%d1}`, r.IntN(9), r.IntN(500), r.IntN(99))
	case "time":
		return fmt.Sprintf(`"2026-01-05T00:00:0%d.5Z"`, r.IntN(10))
	case "svc_ttl":
		return `"1d"`
	}
	return fmt.Sprintf(`"/p/%d?x"`, r.IntN(50))
}

func randomValue(r *rand.Rand, depth int) string {
	if depth < 3 {
		switch r.IntN(4) {
		case 0:
			var parts []string
			for range r.IntN(4) {
				key := []string{"addr", "status", "country", "x", "y", "addr"}[r.IntN(6)]
				parts = append(parts, `"`+key+`":`+randomValue(r, depth+1))
			}
			return "{" + strings.Join(parts, ",") + "}"
		case 1:
			return "[" + randomValue(r, depth+1) + "," + randomValue(r, depth+1) + "]"
		}
	}
	return []string{
		"null", "true", "7", "1.5", "1e400", "18446744073709551615", `"esc \" \n \u00e9"`, `"\ud800"`, "[]", "{}",
	}[r.IntN(10)]
}

// outcomeOf returns everything that a request with the records gives: tables, batches, notes and the errors of skipped
// records. With asLists, the reader makes no shapes. left is the budget that each record has left.
func outcomeOf(t *testing.T, p *Pipeline, records []string, asLists bool) (out string, left []fn.Budget) {
	t.Helper()
	var b strings.Builder
	q := request(skipErrors)
	q.OnSkip = func(r Reason) { fmt.Fprintln(&b, "skip", r.Kind, r.Error) }
	made, err := NewRunner(p, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Release()
	r := made.(*runner)
	defer func() { r.json.shapes.asLists = 0 }()
	for _, record := range records {
		r.json.shapes.asLists = 0 // also after a record without a shape
		if asLists {
			r.json.shapes.asLists = math.MaxInt
		}
		if err := r.ScanLine([]byte(record)); err != nil {
			fmt.Fprintln(&b, "error", err)
		}
		left = append(left, r.work.Record)
	}
	result, err := r.Finish()
	if err != nil {
		return b.String() + "finish " + err.Error(), left
	}
	fmt.Fprintln(&b, r.notes, r.records, r.lost)
	for _, table := range result.Tables {
		for i, c := range table.Rows.Cols() {
			c.ID = uint32(i + 1)
			fmt.Fprint(&b, " ", c.Name, c.Type)
		}
		fmt.Fprintf(&b, "\n%s %d %x\n", table.Table, table.Rows.Rows(), table.Rows.Encode(nil, column.Header{}))
	}
	return b.String(), left
}

// compareForms fails if records give another outcome when they are read as lists than when they have shapes.
func compareForms(t *testing.T, p *Pipeline, records []string) {
	t.Helper()
	lists, listsLeft := outcomeOf(t, p, records, true)
	shapes, shapesLeft := outcomeOf(t, p, records, false)
	if lists != shapes {
		a, b := strings.Split(lists, "\n"), strings.Split(shapes, "\n")
		for i := range a {
			if i >= len(b) || a[i] != b[i] {
				t.Fatalf("%s\nlists:  %.900s\nshapes: %.900s", strings.Join(records, "\n"), a[i], b[min(i, len(b)-1)])
			}
		}
	}
	for i := range records {
		if l, s := listsLeft[i], shapesLeft[i]; s.Steps < l.Steps || s.Bytes < l.Bytes {
			t.Fatalf("%s: with a shape the record has %v left, as a list %v", records[i], s, l)
		}
	}
}

func vrlPipeline(source string) (*Pipeline, error) {
	doc := "version: 2\nprocessors:\n  - vrl:\n      source: |\n        " + strings.ReplaceAll(source, "\n", "\n        ")
	return Compile([]byte(doc+"\n"), Options{})
}

func TestShapesGiveTheSameBatches(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	var list []*Pipeline
	for _, source := range formPrograms {
		p, err := vrlPipeline(source)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		list = append(list, p)
	}
	for _, name := range []string{"nginx12", "objects"} {
		list = append(list, benchPipeline(t, name))
	}
	r := rand.New(rand.NewPCG(1, 9))
	for range rounds {
		var records []string
		for range 1 + r.IntN(30) {
			records = append(records, randomRecord(r))
		}
		for _, p := range list {
			compareForms(t, p, records)
		}
	}
}

// TestFullSpace fills the reader's shapes in the middle of a request: they begin anew after a pause.
func TestFullSpace(t *testing.T) {
	p, err := vrlPipeline(".x = .d\n.")
	if err != nil {
		t.Fatal(err)
	}
	made, err := NewRunner(p, request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Release()
	r := made.(*runner)
	scan := func(record string) {
		t.Helper()
		if err := r.ScanLine([]byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	scan(`{"d":1}`)
	if r.rec.Value.Object().Shape() == nil {
		t.Error("a usual record has no shape")
	}
	r.json.shapes.prefixes = maxPrefixes
	scan(`{"d":2}`)
	if r.rec.Value.Object().Shape() != nil || r.json.shapes.asLists != pause || r.json.shapes.size() > 0 {
		t.Errorf("%d records are read as lists, shapes of %d bytes", r.json.shapes.asLists, r.json.shapes.size())
	}
	r.json.shapes.asLists = 1
	scan(`{"d":3}`)
	scan(`{"d":4}`)
	if r.rec.Value.Object().Shape() == nil {
		t.Error("after the pause a usual record has no shape")
	}
	out, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if got := dump(out); strings.Count(got, "4") < 2 || strings.Count(got, "3") < 2 {
		t.Errorf("rows:\n%s", got)
	}
}

// TestKeysOfAnotherRequest sets fields whose names are in the body. Receivers use the memory of a body for the next
// one again, and a Runner keeps its shapes.
func TestKeysOfAnotherRequest(t *testing.T) {
	p, err := vrlPipeline(". = set!(., [.key], .n)\n.")
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, 0, 100)
	for _, key := range []string{"k1", "k2", "k1", "k3"} {
		made, err := NewRunner(p, request(), nil)
		if err != nil {
			t.Fatal(err)
		}
		body = append(body[:0], `{"n":1,"key":"`+key+`"}`...)
		if err := made.ScanLine(body); err != nil {
			t.Fatal(err)
		}
		out, err := made.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if got := dump(out); !strings.Contains(got, "\n  "+key+" ") {
			t.Errorf("no column %s:\n%s", key, got)
		}
		made.Release()
	}
}

// TestPlanOfADroppedRow drops a row that added a column. The next record of its shape must not use the column.
func TestPlanOfADroppedRow(t *testing.T) {
	p, err := vrlPipeline(".")
	if err != nil {
		t.Fatal(err)
	}
	made, err := NewRunner(p, request(skipErrors, having("svc_timestamp TimestampNanosecond ti, z Int64")), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Release()
	for _, record := range []string{`{"z":1}`, `{"new":1,"z":"text"}`, `{"new":2,"z":5}`} {
		if err := made.ScanLine([]byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := made.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if got := dump(out); !strings.Contains(got, "new Int64: - 2") || !strings.Contains(got, "z Int64: 1 5") {
		t.Errorf("rows:\n%s", got)
	}
}

// TestPlanWhileValuesAreAside sends a record with a value that is put aside, and a field with the name of the column
// into which it is put. The plan of the shape knows this column from the record before, and must not write to it again.
func TestPlanWhileValuesAreAside(t *testing.T) {
	p, err := vrlPipeline(".")
	if err != nil {
		t.Fatal(err)
	}
	having := having("svc_timestamp TimestampNanosecond ti, n Int64, n_conflict String", "on_type_conflict", "aside")
	made, err := NewRunner(p, request(skipErrors, having), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Release()
	for _, record := range []string{
		`{"n":1,"n_conflict":"first"}`, `{"n":"text","n_conflict":"taken"}`, `{"n":3,"n_conflict":"third"}`,
		`{"n":"alone"}`,
	} {
		if err := made.ScanLine([]byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := made.Finish()
	if err != nil {
		t.Fatal(err)
	}
	got := dump(out)
	for _, want := range []string{
		"n Int64: 1 3 -", `n_conflict String: "first" "third" "alone"`, "skipped 1 of 4",
		"the record has a field of that name",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s:\n%s", want, got)
		}
	}
}

// TestShapesInExamples runs the examples of all functions on records in both forms.
func TestShapesInExamples(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	ran := 0
	for _, f := range vrl.Functions() {
		for _, e := range f.Examples {
			if e.Any || e.Needs != 0 {
				continue // it does not always give the same result
			}
			p, err := vrlPipeline("result = {\n" + e.Source + "\n}\nif is_object(.) { .result = result }\n.")
			if err != nil {
				continue // it fails, so its value cannot be assigned
			}
			records := []string{e.Event, "{}", e.Event, randomRecord(r), e.Event}
			if e.Event == "" {
				records = []string{randomRecord(r), randomRecord(r)}
			}
			ran++
			compareForms(t, p, records)
		}
	}
	if ran < 200 {
		t.Errorf("only %d examples ran", ran)
	}
}

// FuzzShapes runs a program on lines of records in both forms.
func FuzzShapes(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 8))
	for _, source := range formPrograms {
		f.Add(source, randomRecord(r)+"\n"+randomRecord(r)+"\n"+randomRecord(r))
	}
	f.Add(".", `{"a":1,"b":2}`+"\n"+`{"a":1,"b":2,"a":3}`+"\n"+`{"b":{"a":{}},"a":[{"a":1}]}`+"\n"+`{"a":`)
	f.Fuzz(func(t *testing.T, source, records string) {
		for _, changing := range []string{"now", "random", "uuid", "hostname", "secs", "log"} {
			if strings.Contains(source, changing) {
				t.Skip("the program does not always give the same result")
			}
		}
		p, err := vrlPipeline(source)
		if err != nil {
			t.Skip(err)
		}
		compareForms(t, p, strings.Split(records, "\n"))
	})
}

// TestManyShapes sends records of which each has keys of its own. The reader's memory stays bounded, it stops making
// shapes, and the rows are the same as from lists.
func TestManyShapes(t *testing.T) {
	p, err := vrlPipeline(`.n = length(object!(.))` + "\n" + `. = {"n": .n}`)
	if err != nil {
		t.Fatal(err)
	}
	var records []string
	for i := range 3000 {
		records = append(records, fmt.Sprintf(`{"a%d":1,"b%d":{"c%d":2},"d":3,"e":{"f":4}}`, i, i, i))
	}
	compareForms(t, p, records)
	made, err := NewRunner(p, request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Release()
	r := made.(*runner)
	r.json.shapes.asLists = 0
	most := 0
	for _, record := range records {
		if err := r.ScanLine([]byte(record)); err != nil {
			t.Fatal(err)
		}
		most = max(most, r.json.shapes.size())
	}
	if most == 0 || most > 8<<20 || r.json.shapes.failed != maxFailed {
		t.Errorf("shapes of %d bytes, %d of the last records were read as lists", most, r.json.shapes.failed)
	}
}
