package native

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
	"cordwood/router/vrl/jsonscan"
)

func TestKindOf(t *testing.T) {
	for in, want := range map[string]Kind{
		"application/json":                       JSON,
		"Application/JSON; charset=utf-8":        JSON,
		" application/json ":                     JSON,
		"application/json; charset=\"utf":        JSON,
		"application/x-ndjson":                   NDJSON,
		"text/plain;charset=UTF-8":               Text,
		"TEXT/PLAIN":                             Text,
		"":                                       0,
		"application/xml":                        0,
		"application/json-seq":                   0,
		"text/html":                              0,
		strings.Repeat("application/json ", 100): 0,
	} {
		got, err := KindOf(in)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("KindOf(%.40q) = %d, %v", in, got, err)
		}
		if err != nil && (errs.CodeOf(err) != errs.InvalidArguments || len(err.Error()) > 300) {
			t.Errorf("KindOf(%.40q): %v", in, err)
		}
	}
	if _, err := KindOf("application/xml"); !strings.Contains(err.Error(),
		"invalid content type: application/xml, expected: one of application/json, application/x-ndjson, text/plain") {
		t.Error(err)
	}
	for in, want := range map[string]string{
		"text/csv; header=present":          "a pipeline with the processor csv",
		"Text/Tab-Separated-Values":         "a pipeline with the processor csv",
		"application/x-www-form-urlencoded": "-H 'Content-Type: application/json'",
	} {
		if _, err := KindOf(in); err == nil || !strings.Contains(err.Error(), "text/plain; ") ||
			!strings.HasSuffix(err.Error(), want) {
			t.Errorf("KindOf(%q): %v, want …%s", in, err, want)
		}
	}
}

// read runs a body through svc_identity and describes the result: the values of the column a (or message), with -
// for null, and the skipped records.
func read(body []byte, kind Kind, opt Options) (string, error) {
	run, err := pipeline.NewIdentity(&pipeline.Request{
		Database: "public", Table: "t", AutoCreate: true, SkipError: opt.SkipError, IgnoreErrors: opt.IgnoreErrors,
	})
	if err != nil {
		return "", err
	}
	defer run.Release()
	if err := Read(body, kind, opt, run); err != nil {
		return "", err
	}
	out, err := run.Finish()
	if err != nil {
		return "", err
	}
	var s []string
	for _, t := range out.Tables {
		for row := range t.Rows.Rows() {
			s = append(s, value(t, row))
		}
	}
	if out.Skipped > 0 {
		s = append(s, fmt.Sprintf("skipped %d: %s", out.Skipped, reasonText(out.Reasons)))
	}
	return strings.Join(s, " "), nil
}

func value(t *pipeline.TableRows, row int) string {
	for _, c := range t.Rows.Cols() {
		switch {
		case c.Name != "a" && c.Name != "message" || c.IsNull(row):
		case c.Type == schema.String:
			return fmt.Sprintf("%q", c.Bytes(row))
		default:
			return fmt.Sprint(c.Int(row))
		}
	}
	return "-"
}

func TestRead(t *testing.T) {
	var (
		strict Options
		skip   = Options{SkipError: true}
		ignore = Options{IgnoreErrors: true}
	)
	const malformed = "Failed to parse payload as json: "
	for _, tt := range []struct {
		name string
		kind Kind
		opt  Options
		in   string
		want string // values, or ! and the text of the error
	}{
		{"empty", JSON, strict, "", ""},
		{"blank", JSON, strict, " \r\n\t", ""},
		{"empty array", JSON, strict, " [ ] ", ""},
		{"object", JSON, strict, `{"a":1}`, "1"},
		{"array", JSON, strict, ` [ {"a":1} , {"a":2} ] `, "1 2"},
		{"stream", JSON, strict, `{"a":1}{"a":2} {"a":3}` + "\n\n" + `{"a":4}`, "1 2 3 4"},
		{"arrays and objects", JSON, strict, `[{"a":1}][{"a":2},{"a":3}]{"a":4}[]`, "1 2 3 4"},
		{"pretty", JSON, strict, "{\n  \"a\": 1,\r\n  \"b\": [\n1]\n}\n", "1"},
		{"byte order mark", JSON, strict, "\xef\xbb\xbf{\"a\":1}", "1"},
		{"unicode", JSON, strict, `{"a":"日本 é"}`, `"日本 é"`},
		{
			"not json", JSON, strict, "not json",
			"!" + malformed + "unexpected character 'n', expected a value at line 1 column 1 (byte offset 0)",
		},
		{
			"not json, ignore_errors", JSON, ignore, "not json",
			"skipped 1: record 0: " + malformed +
				"unexpected character 'n', expected a value at line 1 column 1 (byte offset 0); " +
				"if the lines are text, send them as text/plain",
		},
		{
			"text behind JSON", NDJSON, strict, "{}\nplain text\n",
			"!invalid JSON at index: 1: unexpected character 'p', expected a value at column 1; if the lines are text, " +
				"send them as text/plain",
		},
		{
			"text behind JSON, a stream", JSON, strict, "{}\nplain text\n",
			"!line 2 column 1 (byte offset 3); if the lines are text, send them as text/plain",
		},
		{"not json, skip_error", JSON, skip, "not json", "!" + malformed},
		{"not json on a line, skip_error", JSON, skip, "not json\n", "!" + malformed},
		{
			"where the fault is", JSON, strict, "{\"a\":1}\n{\"a\":2,}",
			"!" + malformed + "unexpected character '}', expected a key in quotes at line 2 column 8 (byte offset 15)",
		},
		{
			"cut off", JSON, strict, `[{"a":1},{"a":`,
			"!" + malformed + "unexpected end, expected a value at line 1 column 15 (byte offset 14)",
		},
		{"unclosed array", JSON, strict, `[{"a":1}`, "!" + malformed + "unexpected end, expected ',' or ']'"},
		{"comma between objects", JSON, strict, `{"a":1},{"a":2}`, "!" + malformed + "unexpected character ','"},
		{"trailing comma", JSON, strict, `[{"a":1},]`, "!" + malformed + "unexpected character ']', expected a value"},
		{"bracket too much", JSON, strict, `[{"a":1}]]`, "!" + malformed + "unexpected character ']'"},
		{
			"scalar", JSON, strict, `{"a":1} 7`,
			"!Invalid JSON: a top-level value must be an object or an array of objects, at line 1 column 9 (byte offset 8)",
		},
		{"scalars, ignore_errors", JSON, ignore, `{"a":1} 7 "x" null {"a":2}`, "1 2 skipped 3: "},
		{"scalars, skip_error", JSON, skip, `true{"a":2}`, "2 skipped 1: "},
		{"elements that are no objects", JSON, strict, `[1,2]`, "!record 0: Top level value must be map"},
		{
			"elements that are no objects, skip_error", JSON, skip, `[1,{"a":1},[{"a":2}]]`,
			"1 skipped 2: record 0: Top level value must be map | record 2: Top level value must be map",
		},
		{"ignore_errors stops at the fault", JSON, ignore, "{\"a\":1}\n{\"a\":\n{\"a\":3}", "1 skipped 1: "},
		{"ignore_errors keeps elements before it", JSON, ignore, `[{"a":1},{"a":2},oops]`, "1 2 skipped 1: "},
		{"ignore_errors does not skip records", JSON, ignore, `[{"a":1},{"a":"x"}]`, "!record 1: column \"a\""},
		{
			"skip_error goes on with the next line", JSON, skip,
			"{\"a\":1}\n{\"a\":\n{\"a\":3}\r\noops\n\n{\"a\":5}{\"a\":6}\n", "1 3 5 6 skipped 2: ",
		},
		{"skip_error, last line cut off", JSON, skip, "{\"a\":1}\n{\"a\":2}\n{\"a", "1 2 skipped 1: "},
		{"skip_error in an array is fatal", JSON, skip, "[{\"a\":1},\n{\"a\":\n{\"a\":3}]", "!" + malformed},
		{"skip_error in pretty JSON is fatal", JSON, skip, "{\n\"a\":1,\n\"b\":x\n}\n{\n\"a\":3}", "!" + malformed},
		{
			"skip_error and ignore_errors", JSON,
			Options{SkipError: true, IgnoreErrors: true},
			"[{\"a\":1},\n{\"a\":\n{\"a\":3}]", "1 skipped 1: ",
		},
		{
			"invalid UTF-8", JSON, strict, "{\"a\":1}\n{\"a\":\"\xff\"}",
			"!" + malformed + "invalid UTF-8 at line 2 column 7 (byte offset 14)",
		},
		{"invalid UTF-8 between values", JSON, strict, "{\"a\":1} \xff", "!" + malformed + "invalid UTF-8"},
		{
			"an earlier fault comes first", JSON, strict, "{\"a\":}\xff",
			"!" + malformed + "unexpected character '}', expected a value",
		},
		{"invalid UTF-8, ignore_errors", JSON, ignore, "{\"a\":1}{\"a\":\"\xff\"}{\"a\":2}", "1 skipped 1: "},
		{
			"invalid UTF-8, skip_error", JSON, skip,
			"{\"a\":1}\n{\"a\":\"\xff\"}\n{\"a\":2}\n{\"a\":\"\xc3\"}\n{\"a\":3}", "1 2 3 skipped 2: ",
		},
		{
			"too deep", JSON, strict, `[{"a":` + strings.Repeat("[", 128),
			"!" + malformed + "nested deeper than 128 levels at line 1 column 134 (byte offset 133); " +
				"flatten the value before it is sent, or send it as text; of application/x-ndjson skip_error=true leaves such " +
				"records out",
		},
		{
			"too deep a line", NDJSON, strict, `{"a":` + strings.Repeat("[", 128),
			"!invalid JSON at index: 0: nested deeper than 128 levels at column 133; flatten the value before it is sent, " +
				"or send it as text; skip_error=true leaves such records out",
		},

		{"lines", NDJSON, strict, "{\"a\":1}\n\n{\"a\":2}\r\n\r\n{\"a\":3}", "1 2 3"},
		{"blanks around", NDJSON, strict, " {\"a\":1}\t\n", "1"},
		{"no lines", NDJSON, strict, "", ""},
		{"only empty lines", NDJSON, strict, "\n\r\n\n", ""},
		{
			"line of spaces", NDJSON, strict, "{\"a\":1}\n\n  \n",
			"!invalid JSON at index: 2: unexpected end, expected a value at column 3",
		},
		{
			"bad line", NDJSON, strict, "{\"a\":1}\n\n{\"a\":x}\n{\"a\":3}",
			"!invalid JSON at index: 2: unexpected character 'x', expected a value at column 6",
		},
		{
			"bad line, ignore_errors", NDJSON, ignore, "{\"a\":1}\n{\n{\"a\":3}",
			"1 3 skipped 1: record 1: invalid JSON at index: 1: ",
		},
		{
			"bad line, skip_error", NDJSON, skip, "{\"a\":1}\n{\n{\"a\":3}",
			"1 3 skipped 1: record 1: invalid JSON at index: 1: ",
		},
		{
			"two values on a line", NDJSON, skip, "{\"a\":1}{\"a\":2}\n{\"a\":3} x\n{\"a\":4}",
			"4 skipped 2: record 0: invalid JSON at index: 0: unexpected character '{', expected the end of the line at " +
				"column 8 | record 1: invalid JSON at index: 1: unexpected character 'x', expected the end of the line at column 9",
		},
		{
			"a record does not go over lines", NDJSON, strict, "{\"a\":1,\n\"b\":2}",
			"!invalid JSON at index: 0: unexpected end",
		},
		{
			"a string does not go over lines", NDJSON, strict, "{\"a\":\"x\ny\"}",
			"!invalid JSON at index: 0: unexpected end inside a string",
		},
		{"array on a line", NDJSON, strict, `[{"a":1}]`, "!record 0: Top level value must be map"},
		{"scalar on a line", NDJSON, skip, "7\n{\"a\":1}", "1 skipped 1: record 0: Top level value must be map"},
		{
			"invalid UTF-8 line", NDJSON, strict, "{\"a\":1}\n{\"a\":\"\xff\"}",
			"!invalid line at index: 1: it is not valid UTF-8 at column 7",
		},
		{
			"invalid UTF-8 line, skip_error", NDJSON, skip, "{\"a\":1}\n{\"a\":\"\xff\"}\n{\"a\":2}",
			"1 2 skipped 1: record 1: invalid line at index: 1: it is not valid UTF-8 at column 7",
		},
		{"byte order mark, lines", NDJSON, strict, "\xef\xbb\xbf{\"a\":1}\n", "1"},
		{"ignore_errors does not skip records, lines", NDJSON, ignore, "{\"a\":1}\n{\"a\":\"x\"}", "!record 1: column \"a\""},

		{"text", Text, strict, "one\n\ntwo \r\n three\n", `"one" "two " " three"`},
		{"text of spaces", Text, strict, " \n", `" "`},
		{"no text", Text, strict, "", ""},
		{"text with invalid UTF-8", Text, strict, "a\xffb\nok", "\"a\ufffdb\" \"ok\""},
		{"text like JSON", Text, strict, `{"a":1}`, `"{\"a\":1}"`},
		{"text, lone carriage return", Text, strict, "a\rb", `"a\rb"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			padded := append([]byte(tt.in), make([]byte, jsonscan.Padding)...)[:len(tt.in)]
			got, err := read(padded, tt.kind, tt.opt)
			bare, errBare := read([]byte(tt.in)[:len(tt.in):len(tt.in)], tt.kind, tt.opt)
			if got != bare || fmt.Sprint(err) != fmt.Sprint(errBare) {
				t.Errorf("padding changes the result:\n%s %v\n%s %v", got, err, bare, errBare)
			}
			if want, isErr := strings.CutPrefix(tt.want, "!"); isErr {
				if err == nil || !strings.Contains(err.Error(), want) || errs.CodeOf(err) != errs.InvalidArguments {
					t.Errorf("error %v (code %d), want %s", err, errs.CodeOf(err), want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			// If want ends with a colon, the reasons may be anything.
			if got != tt.want && (!strings.HasSuffix(tt.want, ": ") || !strings.HasPrefix(got, tt.want)) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestReadTextColumns checks the columns of a text body: message and the time.
func TestReadTextColumns(t *testing.T) {
	run, err := pipeline.NewIdentity(&pipeline.Request{Database: "public", Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Release()
	if err := Read([]byte("hello"), Text, Options{}, run); err != nil {
		t.Fatal(err)
	}
	out, err := run.Finish()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range out.Tables[0].Rows.Cols() {
		names = append(names, c.Name+" "+c.Type.String())
	}
	if got := strings.Join(names, ", "); got != "svc_timestamp TimestampNanosecond, message String" {
		t.Error(got)
	}
}

// TestHostile sends bodies that are intended to be expensive. Each must be answered soon.
func TestHostile(t *testing.T) {
	rep := func(s string, n int) []byte { return bytes.Repeat([]byte(s), n) }
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	keys := func(n int, value string) []byte {
		b := []byte{'{'}
		for i := range n {
			b = fmt.Appendf(b, `"k%d":%s,`, i, value)
		}
		return append(b[:len(b)-1], '}')
	}
	skip := Options{SkipError: true}
	for _, tt := range []struct {
		name string
		body []byte
		kind Kind
		opt  Options
		fail string // in the error's text; "" if it is accepted
	}{
		{"deep objects", rep(`{"a":`, 100_000), JSON, skip, "nested deeper"},
		{"deep arrays", rep(`[`, 1_000_000), JSON, skip, "nested deeper"},
		{"deep arrays in a field", append([]byte(`{"a":`), rep(`[`, 1_000_000)...), NDJSON, Options{}, "nested deeper"},
		{"line of 10 MB", join([]byte(`{"a":"`), rep("x", 10<<20), []byte(`"}`)), NDJSON, Options{}, ""},
		{"line of 10 MB, no JSON", rep("x", 10<<20), NDJSON, Options{}, "invalid JSON at index: 0"},
		{"number of 10 MB", join([]byte(`{"a":`), rep("1", 10<<20), []byte(`}`)), JSON, Options{}, "out of the range"},
		{"100,000 columns", keys(100_000, "1"), JSON, Options{}, "more than 1024 columns"},
		{"100,000 columns of nothing", keys(100_000, "null"), JSON, Options{}, ""},
		{"1,000,000 keys", keys(1_000_000, "1"), JSON, Options{}, "more than 262144 keys"},
		{
			"1,000,000 keys in an array", join([]byte(`{"a":[`), keys(1_000_000, "1"), []byte(`]}`)), JSON,
			Options{},
			"more than 262144 keys",
		},
		{"key of 10 MB", join([]byte(`{"`), rep("k", 10<<20), []byte(`":1}`)), JSON, Options{}, "at most 1024"},
		{
			"fields below a key of 1 MB",
			join([]byte(`{"`), rep("k", 1<<20), []byte(`":`), keys(100_000, "1"), []byte(`}`)), JSON,
			Options{},
			"at most 1024",
		},
		{
			"fields below a long key, dotted",
			join([]byte(`{"`), rep("k", 1000), []byte(`.":`), keys(100_000, "1"), []byte(`}`)), JSON,
			Options{},
			"names of its",
		},
		{"new columns in every record", func() []byte {
			var b []byte
			for i := range 100_000 {
				b = fmt.Appendf(b, `{"k%d":1}`+"\n", i)
			}
			return b
		}(), NDJSON, skip, ""},
		{"bad lines", rep("x\n", 1_000_000), NDJSON, skip, ""},
		{"bad lines in a stream", join([]byte("{}\n{\n"), rep("{x\n", 500_000)), JSON, skip, ""},
		{"bad records", join([]byte("{\"a\":1}\n"), rep("{\"a\":\"\"}\n", 500_000)), NDJSON, skip, ""},
		{"scalars", rep("1 ", 1_000_000), JSON, skip, ""},
		{"invalid UTF-8 lines", rep("\xff\n", 1_000_000), NDJSON, skip, ""},
		{"invalid UTF-8 stream", rep("{}\n\xff\n", 300_000), JSON, skip, ""},
		{"open brackets on lines", join(rep("{\"a\":[\n", 100), rep("{\"x\":1},\n", 300_000)), JSON, skip, ""},
		{"a table for every record", func() []byte {
			var b []byte
			for i := range 20_000 {
				b = fmt.Appendf(b, `{"svc_table_suffix":%d,"a":1}`+"\n", i)
			}
			return b
		}(), NDJSON, Options{}, "more than 10000 destination tables"},
		{"a set of options for every record", func() []byte {
			var b []byte
			for i := range 20_000 {
				b = fmt.Appendf(b, `{"svc_ttl":"%ds","a":1}`+"\n", i+1)
			}
			return b
		}(), NDJSON, Options{}, "more than 10000"},
		{
			"one wide record and many narrow ones", join(keys(1000, "1"), rep("\n{}", 1_000_000)), NDJSON, skip,
			"send fewer rows per request",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := used()
			_, err := read(tt.body, tt.kind, tt.opt)
			if tt.fail == "" && err != nil || tt.fail != "" && (err == nil || !strings.Contains(err.Error(), tt.fail)) {
				t.Errorf("error %.300v, want %q", err, tt.fail)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("error text of %d bytes", len(err.Error()))
			}
			if d := used() - start; d > 10*time.Second {
				t.Errorf("took %v for %d bytes", d, len(tt.body))
			} else if testing.Verbose() {
				t.Logf("%v for %d bytes", d, len(tt.body))
			}
		})
	}
}

// used returns the processor time of this process. Unlike the elapsed time, it does not depend on other
// processes.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// FuzzRead reads whole bodies: there are no panics, and only errors that a client may see.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"{\"a\":1}\n{\"a\":", "[{\"a\":1},{}]", "x\r\n\xff", "\xef\xbb\xbf[]", "{\"a\":[{\"b\":1}]}{}", "1 2 3",
		"{\"svc_ttl\":\"1d\",\"a.b\":1,\"a\":{\"b\":2}}",
	} {
		for kind := range 3 {
			for flags := range 4 {
				f.Add([]byte(s), uint8(kind|flags<<2))
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, mode uint8) {
		kind := Kind(mode&3%3) + JSON
		opt := Options{SkipError: mode&4 != 0, IgnoreErrors: mode&8 != 0}
		_, err := read(body, kind, opt)
		if err != nil && errs.CodeOf(err) != errs.InvalidArguments {
			t.Fatalf("error of code %d: %v", errs.CodeOf(err), err)
		}
		if kind == NDJSON && opt.SkipError && err != nil {
			t.Fatalf("lines failed in spite of skip_error: %v", err)
		}
	})
}

// reasonText prints reasons on one line.
func reasonText(reasons []pipeline.Reason) string {
	var parts []string
	for _, r := range reasons {
		parts = append(parts, fmt.Sprintf("record %d: %s", r.Index, r.Error))
	}
	return strings.Join(parts, " | ")
}
