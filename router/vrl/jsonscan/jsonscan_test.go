package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// skipAll checks a whole document with Skip, like a reader.
func skipAll(data []byte) error {
	t := NewText(data)
	pos, err := t.Skip(t.Space(0), 0)
	if err != nil {
		return err
	}
	if pos = t.Space(pos); pos < t.Len() {
		return t.Unexpected(pos, "the end")
	}
	return nil
}

func canonical(data []byte) (string, error) {
	var w Writer
	t := NewText(data)
	out, pos, err := w.AppendValue(nil, t, t.Space(0), 0)
	if err == nil && t.Space(pos) < t.Len() {
		err = t.Unexpected(t.Space(pos), "the end")
	}
	return string(out), err
}

func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		in   string
		kind NumberKind
		i    int64
		f    float64
	}{
		{"0", Int, 0, 0},
		{"-0", Int, 0, 0},
		{"7", Int, 7, 0},
		{"-12345", Int, -12345, 0},
		{"999999999999999999", Int, 999999999999999999, 0},
		{"9223372036854775807", Int, math.MaxInt64, 0},
		{"-9223372036854775808", Int, math.MinInt64, 0},
		{"9223372036854775808", Uint, math.MinInt64, 0},
		{"-9223372036854775809", Inexact, 0, -9223372036854775809},
		{"-9223372036854777856", Float, 0, -9223372036854777856},
		{"18446744073709551616", Float, 0, 18446744073709551616},
		{"18446744073709551617", Inexact, 0, 18446744073709551617},
		{"18446744073709551615", Uint, -1, 0},
		{"99999999999999999999999", Inexact, 0, 1e23},
		{"1.0", Float, 0, 1},
		{"1e3", Float, 0, 1000},
		{"1E+3", Float, 0, 1000},
		{"0.1", Float, 0, 0.1},
		{"-0.0", Float, 0, math.Copysign(0, -1)},
		{"0e5", Float, 0, 0},
		{"123456789.123456789", Float, 0, 123456789.123456789},
		{"9007199254740993.0", Float, 0, 9007199254740992},
		{"5e-324", Float, 0, 5e-324},
		{"1e-400", Float, 0, 0},
		{"1.7976931348623157e308", Float, 0, math.MaxFloat64},
		{"1e400", BadNumber, 0, 0},
		{"-1e400", BadNumber, 0, 0},
		{"1e99999999999999999999", BadNumber, 0, 0},
		{strings.Repeat("9", 400), BadNumber, 0, 0},
		{"-", BadNumber, 0, 0},
		{"01", BadNumber, 0, 0},
		{"-01", BadNumber, 0, 0},
		{"1.", BadNumber, 0, 0},
		{"1.e5", BadNumber, 0, 0},
		{"1e", BadNumber, 0, 0},
		{"1e+", BadNumber, 0, 0},
		{"+1", BadNumber, 0, 0},
		{".5", BadNumber, 0, 0},
		{"NaN", BadNumber, 0, 0},
	} {
		text := NewText([]byte(tt.in))
		next, kind, i, f := text.Number(0)
		if kind != tt.kind || i != tt.i || math.Float64bits(f) != math.Float64bits(tt.f) {
			t.Errorf("Number(%q) = %d, %d, %v; want %d, %d, %v", tt.in, kind, i, f, tt.kind, tt.i, tt.f)
		}
		if kind == BadNumber {
			if err := text.NumberError(0, next); err.Message() == "" || err.Offset > len(tt.in) {
				t.Errorf("NumberError(%q) = %v", tt.in, err)
			}
		} else if next != len(tt.in) {
			t.Errorf("Number(%q) ended at %d", tt.in, next)
		}
	}
}

func TestAppendFloat(t *testing.T) {
	for in, want := range map[float64]string{
		0: "0.0", 1: "1.0", -1: "-1.0", 0.1: "0.1", 12.5: "12.5", 1e15: "1000000000000000.0", 1e16: "1e16",
		1234567890123456: "1234567890123456.0", 12345678901234567: "1.2345678901234568e16",
		1e300: "1e300", 1.5e-7: "1.5e-7", 0.00001: "0.00001", 0.000001: "1e-6", 5e-324: "5e-324", 1e22: "1e22",
		-0.001234: "-0.001234", 18446744073709551615: "1.8446744073709552e19",
	} {
		if got := string(AppendFloat(nil, in)); got != want {
			t.Errorf("AppendFloat(%v) = %s, want %s", in, got, want)
		}
	}
}

func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		`"plain"`:                      "plain",
		`""`:                           "",
		`"a\"b\\c\/d\b\f\n\r\te"`:      "a\"b\\c/d\b\f\n\r\te",
		`"\u0041\u00e9\u20AC\u0000"`:   "Aé€\x00",
		`"\ud83d\ude00"`:               "😀",
		`"\ud83d"`:                     "\ufffd",
		`"\ude00x"`:                    "\ufffdx",
		`"\ud83d\u0041"`:               "\ufffdA",
		`"\ud83d\ud83d\ude00"`:         "\ufffd😀",
		`"日本語 in eight bytes or more"`: "日本語 in eight bytes or more",
		"\"\x7f\"":                     "\x7f",
	} {
		text := NewText([]byte(in))
		got, next, err := text.AppendString([]byte("x"), 1)
		if err != nil || string(got) != "x"+want || next != len(in) {
			t.Errorf("AppendString(%s) = %q, %d, %v; want %q", in, got, next, err, want)
		}
		if next, err := text.SkipString(1); err != nil || next != len(in) {
			t.Errorf("SkipString(%s) = %d, %v", in, next, err)
		}
	}
	for _, in := range []string{
		`"`, `"abc`, `"\`, `"\"`, `"\u12`, `"\u12G4"`, `"\x41"`, "\"a\nb\"", "\"\x00\"", "\"1234567\x1f\"", `"\'"`,
	} {
		text := NewText([]byte(in))
		_, _, err := text.AppendString(nil, 1)
		_, err2 := text.SkipString(1)
		if err == nil || err2 == nil || err.Error() != err2.Error() {
			t.Errorf("%q: AppendString: %v; SkipString: %v", in, err, err2)
		}
	}
}

func TestSkip(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for _, in := range []string{
		"0", `"x"`, "true", "false", "null", "[]", "{}", "[ ]", "{ }", ` [ 1 , 2 ] `,
		"{\"a\" : {\"b\":[true,null,-1.5e3]} ,\n\t\"\":\"\"}",
		deep(MaxDepth), `[{"a":1,"a":2}]`,
	} {
		if err := skipAll([]byte(in)); err != nil {
			t.Errorf("%q: %v", in, err)
		}
	}
	for in, want := range map[string]string{
		"":                 "unexpected end, expected a value at byte offset 0",
		"nul":              "unexpected character 'n', expected a value at byte offset 0",
		"[1,]":             "unexpected character ']', expected a value at byte offset 3",
		"[1 2]":            "unexpected character '2', expected ',' or ']' at byte offset 3",
		`{"a":1,}`:         "unexpected character '}', expected a key in quotes at byte offset 7",
		`{"a" 1}`:          "unexpected character '1', expected ':' at byte offset 5",
		`{a:1}`:            "unexpected character 'a', expected a key in quotes at byte offset 1",
		`{"a":1`:           "unexpected end, expected ',' or '}' at byte offset 6",
		`{"a":"x`:          "unexpected end inside a string at byte offset 7",
		`[truefalse]`:      "unexpected character 'f', expected ',' or ']' at byte offset 5",
		`{"a":1}x`:         "unexpected character 'x', expected the end at byte offset 7",
		`[01]`:             "number with a leading zero at byte offset 1",
		`[1e400]`:          "number out of the range of a 64-bit float at byte offset 1",
		`[-]`:              "unexpected character ']', expected a digit at byte offset 2",
		`[1.]`:             "unexpected character ']', expected a digit at byte offset 3",
		`1.`:               "unexpected end inside a number at byte offset 2",
		`-`:                "unexpected end inside a number at byte offset 1",
		"\xef\xbb\xbf{}":   "unexpected byte 0xef, expected a value at byte offset 0",
		"[\x00]":           "unexpected byte 0x00, expected a value at byte offset 1",
		deep(MaxDepth + 1): "nested deeper than 128 levels at byte offset 128",
	} {
		if err := skipAll([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", in, err, want)
		}
	}
}

// A text is scanned in place, so the bytes after it in the buffer must not affect the result.
func TestTextEndsWhereItEnds(t *testing.T) {
	buf := append([]byte("{\"a\":1\n,\"b\":2}\n[true\n]\n12\n34"), make([]byte, Padding)...)
	from := 0
	for line := range bytes.Lines(buf[:len(buf)-Padding]) {
		to := from + len(bytes.TrimSuffix(line, []byte("\n")))
		text := NewText(buf[from:to])
		if &text.src[0] != &buf[from] {
			t.Errorf("line %q was copied", line)
		}
		_, err := text.Skip(0, 0)
		if want := json.Valid(buf[from:to]); (err == nil) != want {
			t.Errorf("Skip(%q): %v, want valid: %t", buf[from:to], err, want)
		}
		from += len(line)
	}
	inner := NewText(buf[:5])
	if &inner.src[0] == &buf[0] {
		t.Error("a text without a terminator was not copied")
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		` [ ] `:         `[]`,
		`[ ]`:           `[]`,
		`{ }`:           `{}`,
		`[1, {"z":0}]`:  `[1,{"z":0}]`,
		`{"b":1,"a":2}`: `{"a":2,"b":1}`,
		`{"b":{"y":1, "x":[{"d":1,"c":2}]},"a":2}`:    `{"a":2,"b":{"x":[{"c":2,"d":1}],"y":1}}`,
		`{"a":1,"b":2,"a":3}`:                         `{"a":3,"b":2}`,
		`{"a":{"x":1},"a":{"y":2}}`:                   `{"a":{"y":2}}`,
		`{"a":1,"\u0061":2}`:                          `{"a":2}`,
		`[1.0,1e3,0.10,-0,1E-9,12345678901234567890]`: `[1.0,1000.0,0.1,-0,1e-9,12345678901234567890]`,
		`["<a href=\"x\">&\u00e9\/\u0001\ud800"]`:     `["<a href=\"x\">&é/\u0001�"]`,
		`[true , false,null]`:                         `[true,false,null]`,
		`{"é":1,"z":2,"A":3}`:                         `{"A":3,"z":2,"é":1}`,
		`{"\n":1,"\u0001":2}`:                         `{"\u0001":2,"\n":1}`,
	} {
		got, err := canonical([]byte(in))
		if err != nil || got != want {
			t.Errorf("canonical(%s) = %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestCanonicalManyKeys(t *testing.T) {
	object := func(n int) []byte {
		b := []byte{'{'}
		for i := range n {
			b = append(b, '"')
			b = strconv.AppendInt(b, int64(n-i), 36)
			b = append(b, `":0,`...)
		}
		return append(b[:len(b)-1], '}')
	}
	if _, err := canonical(object(MaxKeys)); err != nil {
		t.Error(err)
	}
	var e *Error
	if _, err := canonical(object(MaxKeys + 1)); !errors.As(err, &e) || !strings.Contains(e.Message(), "keys") {
		t.Errorf("%d keys: %v", MaxKeys+1, err)
	}
}

func TestHostile(t *testing.T) {
	for name, in := range map[string][]byte{
		"deep arrays":   bytes.Repeat([]byte{'['}, 10_000_000),
		"deep objects":  bytes.Repeat([]byte(`{"a":`), 2_000_000),
		"endless quote": bytes.Repeat([]byte{'"'}, 10_000_000),
		"long string":   append([]byte{'"'}, bytes.Repeat([]byte{'a'}, 10_000_000)...),
		"long number":   bytes.Repeat([]byte{'1'}, 10_000_000),
		"backslashes":   append([]byte{'"'}, bytes.Repeat([]byte{'\\'}, 9_999_999)...),
	} {
		start := time.Now()
		if err := skipAll(in); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := canonical(in); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
	}
}

// FuzzScan compares the scanner with a strict library: both accept the same texts, decode strings in the same
// way, and return the same numbers. The seeds in testdata are also those of test/answers.
func FuzzScan(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		if !utf8.Valid(data) {
			return
		}
		err := skipAll(data)
		text, werr := canonical(data)
		if (err == nil) != (werr == nil) || err != nil && err.Error() != werr.Error() {
			t.Fatalf("Skip: %v, AppendValue: %v", err, werr)
		}
		valid := jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			if valid && !strings.Contains(err.Error(), "out of the range") && !strings.Contains(err.Error(), "deeper") {
				t.Fatalf("refused valid JSON: %v", err)
			}
			return
		}
		if !valid {
			t.Fatalf("accepted a text that the library refuses")
		}
		if again, err := canonical([]byte(text)); err != nil || again != text {
			t.Fatalf("canonical text %q is not stable: %q, %v", text, again, err)
		}
		var want, got any
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		dec = json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if !equal(want, got) {
			t.Fatalf("canonical text %q decodes to %v, want %v", text, got, want)
		}
		checkScalar(t, data, want)
	})
}

// checkScalar checks a document that is one number or string.
func checkScalar(t *testing.T, data []byte, want any) {
	text := NewText(data)
	pos := text.Space(0)
	switch want := want.(type) {
	case json.Number:
		_, kind, i, f := text.Number(pos)
		wantInt, err := strconv.ParseInt(want.String(), 10, 64)
		wantUint, uerr := strconv.ParseUint(want.String(), 10, 64)
		if (err == nil) != (kind == Int) || (err != nil && uerr == nil) != (kind == Uint) {
			t.Fatalf("%s is of kind %d", want, kind)
		}
		if kind == Uint && uint64(i) != wantUint {
			t.Fatalf("%s read as %d", want, uint64(i))
		}
		if exact, ok := new(big.Int).SetString(want.String(), 10); ok && (kind == Float || kind == Inexact) {
			back, _ := new(big.Float).SetFloat64(f).Int(nil)
			if same := back != nil && back.Cmp(exact) == 0; same != (kind == Float) {
				t.Fatalf("%s is of kind %d, the nearest float is %v", want, kind, f)
			}
		}
		if wantFloat, _ := want.Float64(); kind == Float && f != wantFloat || kind == Int && i != wantInt {
			t.Fatalf("%s read as %d, %v", want, i, f)
		}
	case string:
		if got, _, _ := text.AppendString(nil, pos+1); string(got) != want {
			t.Fatalf("string read as %q, want %q", got, want)
		}
	}
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		n, ok := b.(json.Number)
		if !ok {
			return false
		}
		fa, _ := a.Float64()
		fb, _ := n.Float64()
		return fa == fb
	case []any:
		l, ok := b.([]any)
		if !ok || len(a) != len(l) {
			return false
		}
		for i := range a {
			if !equal(a[i], l[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok || len(a) != len(m) {
			return false
		}
		for k := range a {
			if _, ok := m[k]; !ok || !equal(a[k], m[k]) {
				return false
			}
		}
		return true
	}
	return a == b
}

func BenchmarkSkip(b *testing.B) {
	data := []byte(`{"time":"2026-01-05T00:00:00.123Z","host":"edge-01.fra.example.com","remote_addr":"10.20.30.40",` +
		`"method":"GET",` +
		`"path":"/api/v1/users/1234","status":200,"bytes":5123,"request_time":0.034,"user_agent":"Mozilla/5.0 (X11; ` +
		`Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0",` +
		`"upstream":{"addr":"10.42.0.11:8080","status":200,"response_time":0.021},"tags":["a","b"]}`)
	text := NewText(data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := text.Skip(0, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func TestCountLoneSurrogates(t *testing.T) {
	for doc, want := range map[string]int{
		`"a"`: 0, `"\ud800"`: 1, `"\ud83d\ude00"`: 0, `"\\ud800"`: 0, `"\\\ud800"`: 1, `{"\uDC00":"\ud800\ud800"}`: 3,
		`"\ufffd \n"`: 0, `"\ud800\u0041"`: 1, `"\`: 0, `"\u`: 0, `"\ud8`: 0, `"\ud800`: 1, `\x\ud800`: 1, "": 0,
	} {
		if got := CountLoneSurrogates([]byte(doc)); got != want {
			t.Errorf("%s: %d, want %d", doc, got, want)
		}
	}
}
