package pipeline

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"cordwood/router/pipeline/processor"
	"cordwood/router/vrl/jsonscan"
	"cordwood/router/vrl/value"
)

// readRecord reads one object with a reader that may have read other objects.
func readRecord(s *reader, text string) (string, error) {
	t := s.begin([]byte(text))
	pos := t.Space(0)
	if t.Bytes()[pos] != '{' {
		return "", t.Unexpected(pos, "an object")
	}
	v, next, err := s.object(pos, []string{"message", "a"})
	if err != nil {
		return "", err
	}
	if next = t.Space(next); next < t.Len() {
		return "", t.Unexpected(next, "the end")
	}
	for i := 1; i < v.Object().Len(); i++ {
		if v.Object().Key(i-1) >= v.Object().Key(i) {
			return "", fmt.Errorf("key %q follows %q", v.Object().Key(i), v.Object().Key(i-1))
		}
	}
	return string(value.AppendJSON(nil, v)), nil
}

func newReader() *reader { return &reader{rec: processor.NewRecord(&processor.Names{})} }

func TestReader(t *testing.T) {
	many := func(n, step int) string {
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprintf(`"k%d":%d`, i*step%n, i))
		}
		return "{" + strings.Join(keys, ",") + "}"
	}
	s := newReader()
	for _, text := range []string{
		`{}`, ` { } `, `{"b":1,"a":2}`, `{"a":1,"b":2}`, `{"b":1}`, `{"c":null,"b":[],"a":{}}`,
		`{"a":{"z":1,"b":{"c":[{"d":1,"c":2},{"c":3}]}},"message":"x"}`, `{"a":[{"d":1},[{"d":{"e":2}}]]}`,
		`{"a":1,"a":2,"b":3,"a":{"x":1,"x":2}}`, "{\"k\\u00e9y\\n\":\"v\\\"\\ud83d\\ude00\",\"\":0}",
		`{"kéy` + "\\n" + `":1}`,
		`{"a" : true , "b" :false,"c":-5,"d":1.0,"e":1e3,"f":1180591620717411303424}`,
		many(100, 7), many(100, 3), many(5000, 7), `{"k3":1,"k1":2}`, many(3000, 11), `{"b":1,"a":2}`,
	} {
		got, err := readRecord(s, text)
		if err != nil {
			t.Errorf("%.80s: %v", text, err)
			continue
		}
		want, err := value.ParseJSON(strings.TrimSpace(text), value.JSONOptions{})
		if err != nil {
			t.Fatalf("%.80s: %v", text, err)
		}
		if w := string(value.AppendJSON(nil, want)); got != w {
			t.Errorf("%.80s\n got %.300s\nwant %.300s", text, got, w)
		}
	}
	if s.known > 2*5000 {
		t.Errorf("%d keys are remembered", s.known)
	}
}

func TestReaderErrors(t *testing.T) {
	s := newReader()
	deep := strings.Repeat(`{"a":`, jsonscan.MaxDepth+1)
	for text, want := range map[string]string{
		`{`: "a key in quotes", `{"a"`: "':'", `{"a":`: "a value", `{"a":1`: "',' or '}'", `{"a":1,}`: "a key in quotes",
		`{a:1}`:    "a key in quotes",
		`{"a":[1}`: "',' or ']'", `{"a":tru}`: "a value", `{"a":01}`: "leading zero", `{"a":"x`: "", `{"a":nul`: "a value",
		`{"a":1e999}`: "out of the range",
		deep:          "nested deeper", `{"a":` + strings.Repeat("[", jsonscan.MaxDepth): "nested deeper",
	} {
		_, err := readRecord(s, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %s", text, err, want)
		}
	}
	// A failed object must not affect the next one.
	if got, err := readRecord(s, `{"b":{"c":1},"a":2}`); got != `{"a":2,"b":{"c":1}}` || err != nil {
		t.Error(got, err)
	}
}

// TestReaderManyRecords reads records whose keys are new each time and in a different order.
func TestReaderManyRecords(t *testing.T) {
	s := newReader()
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var parts []string
		for range r.IntN(12) {
			part := fmt.Sprintf(`"%c%d":`, 'a'+r.IntN(4), r.IntN(1+r.IntN(2000)))
			if r.IntN(4) == 0 {
				part += fmt.Sprintf(`{"%c":%d,"%c":"x"}`, 'a'+r.IntN(9), r.IntN(9), 'a'+r.IntN(9))
			} else {
				part += fmt.Sprint(r.IntN(100))
			}
			parts = append(parts, part)
		}
		text := "{" + strings.Join(parts, ",") + "}"
		got, err := readRecord(s, text)
		if err != nil {
			t.Fatal(err)
		}
		want, err := value.ParseJSON(text, value.JSONOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if w := string(value.AppendJSON(nil, want)); got != w {
			t.Fatalf("%s\n got %s\nwant %s", text, got, w)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, text := range []string{
		`{"a":{"b":[1,{"c":null}]},"a":2}`, `{"a\u0000":"\ud800"}`, `{"a":1e5,"b":-0.0}`, `{"`, `{"a":[[[[]]]]} x`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := newReader()
		first, err1 := readRecord(s, text)
		again, err2 := readRecord(s, text)
		if first != again || (err1 == nil) != (err2 == nil) {
			t.Errorf("twice read it differs: %q %v, %q %v", first, err1, again, err2)
		}
	})
}

// TestManyInnerObjects reads records with many small objects at a place that had many keys. Their memory and their work
// are linear in the length of the record.
func TestManyInnerObjects(t *testing.T) {
	p, err := vrlPipeline(". = {\"n\": length!(.a), \"first\": .a[0], \"last\": .a[-1]}\n.")
	if err != nil {
		t.Fatal(err)
	}
	var other, same strings.Builder
	for i := 20_000; i > 0; i-- {
		fmt.Fprintf(&other, `,{"k%06d":%d,"a":7}`, i, i)
		same.WriteString(`,{"b":1,"a":2,"b":3}`)
	}
	made, err := NewRunner(p, request(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Release()
	read := func(objects string) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := made.ScanLine([]byte(`{"a":[` + objects[1:] + "]}")); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 100<<20 {
			t.Errorf("a record of %d bytes takes %d MiB of memory", len(objects), n>>20)
		}
	}
	read(other.String())
	place := made.(*runner).json.shapes.first.next.lists.child
	if len(place.byKey) < 20_000 || len(place.sorted) > 200 {
		t.Errorf("%d of %d keys were put in order", len(place.sorted), len(place.byKey))
	}
	read(same.String())
	out, err := made.Finish()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(dump(out), `\"`, `"`)
	for _, want := range []string{`{"a":7,"k020000":20000}`, `{"a":7,"k000001":1}`, `{"a":2,"b":3}`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%.900s", want, got)
		}
	}
}
