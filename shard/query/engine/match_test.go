package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// searchModel is a model of the search in Go: the literal occurs in the text, and if it begins or ends with a
// letter or digit, no letter or digit is next to it there.
func searchModel(text, literal string, a sql.Analyzer) bool {
	fold := func(s string) []rune {
		out := []rune(s)
		if !a.CaseSensitive {
			for i, r := range out {
				out[i] = unicode.ToLower(r)
			}
		}
		return out
	}
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	isHan := func(r rune) bool { return a.Chinese && unicode.Is(unicode.Han, r) }
	inside := func(x, y rune) bool { return isWord(x) && isWord(y) && !isHan(x) && !isHan(y) }
	raw, t, l := []rune(text), fold(text), fold(literal)
	given := []rune(literal)
	for i := 0; i+len(l) <= len(t); i++ {
		if string(t[i:i+len(l)]) != string(l) {
			continue
		}
		if i > 0 && inside(raw[i-1], given[0]) || i+len(l) < len(t) && inside(given[len(given)-1], raw[i+len(l)]) {
			continue
		}
		return true
	}
	return false
}

// TestTerm compares matches_term with the model, on texts with unusual letters.
func TestTerm(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "msg:String")
	r := rand.New(rand.NewPCG(3, 4))
	letters := []string{
		"a", "B", "é", "É", "K", "k", "ſ", "s", "İ", "i", "日", "本", "1", "٣", " ", "-", "_", ".", "'", "𐐀", "𐐨",
		"\u0301", "ß", "ẞ",
	}
	random := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	for _, a := range []sql.Analyzer{{}, {CaseSensitive: true}, {Chinese: true}, {CaseSensitive: true, Chinese: true}} {
		columns[1].Index = &schema.Index{Kind: schema.FulltextIndex, Options: map[string]string{
			schema.IndexOptionCaseSensitive: fmt.Sprint(a.CaseSensitive),
			schema.IndexOptionAnalyzer:      map[bool]string{true: "Chinese", false: "English"}[a.Chinese],
		}}
		var rows [][]any
		var texts []string
		for i := range 400 {
			texts = append(texts, random(1+r.IntN(12)))
			rows = append(rows, []any{i, texts[i]})
		}
		tab := table("t", columns, batch(t, columns, rows...))
		for range 60 {
			term := random(1 + r.IntN(3))
			if strings.TrimSpace(term) == "" {
				continue
			}
			want := 0
			for _, text := range texts {
				if searchModel(text, term, a) {
					want++
				}
			}
			got := mustQuery(t, e, fmt.Sprintf("SELECT count(*) FROM t WHERE matches_term(msg, %s)", sql.QuoteText(term)), tab)
			if got[0] != fmt.Sprint(want) {
				t.Errorf("%+v, %q: got %s rows, want %d", a, term, got[0], want)
			}
		}
	}
}

// TestPhrases compares matches_term with the model, on repetitive texts and parts of them, in which an occurrence may
// begin within another attempt.
func TestPhrases(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "msg:String")
	r := rand.New(rand.NewPCG(5, 6))
	var rows [][]any
	var texts []string
	for i := range 300 {
		var b strings.Builder
		for range 1 + r.IntN(60) {
			b.WriteString([]string{"a", "a", "a", "A", " ", " ", "é", "b", "日"}[r.IntN(9)])
		}
		texts = append(texts, b.String())
		rows = append(rows, []any{i, texts[i]})
	}
	tab := table("t", columns, batch(t, columns, rows...))
	found := 0
	for range 300 {
		of := []rune(texts[r.IntN(len(texts))])
		from := r.IntN(len(of))
		term := string(of[from : from+1+r.IntN(len(of)-from)])
		if strings.TrimSpace(term) == "" {
			continue
		}
		want := 0
		for _, text := range texts {
			if searchModel(text, term, sql.Analyzer{}) {
				want++
			}
		}
		found += want
		got := mustQuery(t, e, fmt.Sprintf("SELECT count(*) FROM t WHERE matches_term(msg, %s)", sql.QuoteText(term)), tab)
		if got[0] != fmt.Sprint(want) {
			t.Errorf("%q: got %s rows, want %d", term, got[0], want)
		}
	}
	if found < 500 {
		t.Errorf("only %d occurrences", found)
	}
}

// TestMatchesHostile searches long texts of one letter or word for nearly the same text. The time must not grow with
// the product of their lengths, because nothing can stop the search within a text.
func TestMatchesHostile(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "m:String")
	var rows [][]any
	for i := range 16 {
		rows = append(rows, []any{i, strings.Repeat([]string{"Z", "z ", "日", "-"}[i%4], 2<<20)[:6<<18]})
	}
	tab := table("t", columns, batch(t, columns, rows...))
	for _, term := range []string{
		strings.Repeat("Z", 1000), strings.Repeat("z ", 500) + "Zz", strings.Repeat("日", 330) + "本",
		strings.Repeat("-", 1000) + "a", strings.Repeat("z ", 500),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		text := "SELECT count(*) FROM t WHERE matches_term(m, " + sql.QuoteText(term) + ")"
		if _, err := request(ctx, e, &query.Request{SQL: text, Database: "public", Tables: []query.Table{tab}}); err != nil {
			t.Errorf("%.80s: %v", text, err)
		}
		cancel()
	}
}

func TestMatches(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "msg:String", "other:String", "extra:Json")
	tab := table("t", columns, batch(t, columns,
		[]any{1, "Connection refused by peer", "x", `{"k":"deep word"}`},
		[]any{2, "connection reset; refused", "Y", nil},
		[]any{3, "disconnection", nil, nil},
		[]any{4, nil, "x", nil},
		[]any{5, "a AND b", "it's", nil},
		[]any{6, `say "hi" (twice)`, "x", nil},
	))
	for query, want := range map[string]string{
		"connection":                              "1 2",
		"connection refused":                      "1 2",
		"connection AND refused":                  "1 2",
		`"connection refused"`:                    "1",
		`"refused by"`:                            "1",
		"reset OR peer":                           "1 2",
		"connection NOT peer":                     "2",
		"NOT connection":                          "3 5 6",
		"NOT NOT connection":                      "1 2",
		"NOT (connection OR disconnection)":       "5 6",
		"peer OR disconnection AND nothing":       "1",
		"(peer OR disconnection) AND NOT nothing": "1 3",
		`"AND"`:                             "5",
		"and":                               "5",
		`"\"hi\" (twice)"`:                  "6",
		"refused-by":                        "",
		"conn*":                             "1 2",
		"DISCONN*":                          "3",
		"nection*":                          "",
		"refus* AND NOT pe*":                "2",
		`"conn*"`:                           "",
		"connection AND +refused AND -peer": "2",
		"+connection -peer":                 "2",
		"-connection":                       "3 5 6",
		`-(peer OR "connection reset")`:     "3 5 6",
		`+"connection refused"`:             "1",
		"connection refused peer OR disconnection":    "1 3",
		" connection\tAND\nrefused ":                  "1 2",
		"conn":                                        "",
		"(((((((connection)))))) AND (refused peer))": "1",
	} {
		got := strings.Join(mustQuery(t, e, "SELECT epoch(ts)::INT FROM t WHERE matches(msg, "+sql.QuoteText(query)+
			") ORDER BY ts", tab), " ")
		if got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
	for sql, want := range map[string]string{
		"SELECT count(*) FROM t WHERE lower(msg).matches_term('peer')":                         "1",
		"SELECT matches_term('a b', 'B')":                                                      "true",
		"SELECT matches_term(NULL, 'B')":                                                       "NULL",
		"SELECT matches(NULL::VARCHAR, 'NOT b')":                                               "NULL",
		"SELECT matches(msg, 'NOT b') FROM t WHERE ts::BIGINT IS NOT NULL ORDER BY ts LIMIT 0": "",
		"SELECT matches(msg, 'peer') FROM t ORDER BY " +
			"ts LIMIT 4": "true false false NULL",
		"SELECT count(*) FROM t WHERE matches(lower(msg) || ' tail', 'tail AND refused')":                   "2",
		"SELECT count(*) FROM t WHERE matches_term(t.other, 'it''s') OR matches_term ( public.t.msg , 'b')": "1",
		"SELECT count(*) FROM t x WHERE MATCHES_TERM(x.other, $$x$$)":                                       "3",
		"SELECT count(*) FROM t WHERE NOT matches_term(msg, 'peer')":                                        "4",
		"SELECT count(*) FILTER (WHERE matches(msg, 'peer')), count(matches(msg, 'peer')) FROM t":           "1|5",
		"SELECT count(*) FROM t WHERE matches_term(extra, 'word')":                                          "1",
		"SELECT count(*) FROM t WHERE matches_term(msg, '; r')":                                             "0",
		"SELECT count(*) FROM t WHERE matches_term(msg, '; refused')":                                       "1",
		"WITH c AS (SELECT msg AS m FROM t) SELECT count(*) FROM c WHERE matches(m, e'reset\\trefused')":    "1",
		"SELECT count(*) FROM t WHERE msg ~ 'con.*ref' AND msg ~ '^c'":                                      "1",
		"SELECT count(*) FROM t WHERE msg ~* '^CONN' AND msg !~ 'reset' AND msg !~* 'DIS|nope'":             "1",
		"SELECT CASE 'ab' ~ 'b' OR false WHEN true THEN 1 WHEN false THEN 2 END":                            "1",
		"SELECT count(*) FROM t WHERE msg !~ 'o'":                                                           "2",
		"SELECT count(*) FROM t WHERE NOT msg ~ 'o' OR NOT (msg ~ 'o')":                                     "2",
		"SELECT 'a\nb' ~ 'b', 'abc' ~ 'b|x', 'abc' ~ '^b', 'ABC' ~* 'b', NULL ~ 'x', " +
			"'abc' ~ '(?i)B', 'x'~'x'": "true|true|false|true|NULL|true|true",
		"SELECT 'abc' SIMILAR TO 'b', 'abc' NOT SIMILAR TO 'abc', regexp_full_match('abc', 'b'), " +
			"'abc' ~ NULL": "false|false|false|NULL",
	} {
		if got := strings.Join(mustQuery(t, e, sql, tab), " "); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
	a, err := ask(e, "SELECT matches_term(msg, 'it''s'), matches(msg, 'a OR b') FROM t", tab)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(a.schema.Field(0).Name, " ", a.schema.Field(1).Name); got !=
		"matches_term(msg, 'it''s') matches(msg, 'a OR b')" {
		t.Errorf("names of columns: %s", got)
	}
}

func TestSearchErrors(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "msg:String")
	tab := table("t", columns, batch(t, columns, []any{1, "x"}))
	for sql, want := range map[string]string{
		"SELECT matches(msg, '') FROM t":                 "position 0: a word is expected; write a word, or a phrase",
		"SELECT matches(msg, 'a AND') FROM t":            "position 5: a word is expected",
		"SELECT matches(msg, 'OR a') FROM t":             "position 0: OR without anything before it",
		"SELECT matches(msg, 'a OR AND b') FROM t":       "position 5: AND without",
		"SELECT matches(msg, '(a') FROM t":               "position 2: a closing parenthesis is missing",
		"SELECT matches(msg, 'a) b') FROM t":             "position 1: a closing parenthesis without",
		"SELECT matches(msg, 'a ()') FROM t":             "position 3: a closing parenthesis where",
		"SELECT matches(msg, 'c*n') FROM t":              "position 0: * is allowed only at the end of a word",
		"SELECT matches(msg, 'a *') FROM t":              "position 2: * is allowed only at the end of a word",
		"SELECT matches(msg, 'a AND c**') FROM t":        "position 6: * is allowed only at the end of a word",
		"SELECT matches(msg, 'a + b') FROM t":            `position 2: "+" must stand directly before a word`,
		"SELECT matches(msg, 'a --b') FROM t":            `position 2: "-" must stand directly before a word`,
		"SELECT matches(msg, '!a') FROM t":               "position 0: ! is not an operator; write -a",
		"SELECT matches(msg, 'b AND !(a)') FROM t":       "position 6: ! is not an operator; write NOT, or - directly before",
		"SELECT matches(msg, 'b !\"a c\"') FROM t":       "position 2: ! is not an operator",
		"SELECT matches(msg, 'a && b') FROM t":           "position 2: & is not an operator; write AND",
		"SELECT matches(msg, 'a&&b') FROM t":             "position 0: & is not an operator; write AND",
		"SELECT matches(msg, 'a & b') FROM t":            "position 2: & is not an operator; write AND",
		"SELECT matches(msg, 'a || b') FROM t":           "position 2: | is not an operator; write OR",
		"SELECT matches(msg, '(a)|(b)') FROM t":          "position 3: | is not an operator; write OR",
		"SELECT matches(msg, 'a -') FROM t":              `position 2: "-" must stand directly before a word`,
		"SELECT matches(msg, '+AND') FROM t":             `an operator cannot follow "+"`,
		"SELECT matches(msg, 'unknown and user') FROM t": `position 8: and would be searched for as a word; write AND`,
		"SELECT matches(msg, 'unknown Or user') FROM t":  `position 8: Or would be searched for as a word; write OR`,
		`SELECT matches(msg, 'a "b') FROM t`:             "position 2: a phrase without its closing quote",
		`SELECT matches(msg, 'a ""') FROM t`:             "position 2: the search text has no word",
		"SELECT matches_term(msg, ' ') FROM t":           "the search text has no word",
		"SELECT matches(msg, msg) FROM t":                "the search text must be a literal",
		"SELECT matches(msg, 'a' || 'b') FROM t":         "the search text must be a literal",
		"SELECT matches(msg, 5) FROM t":                  "the search text must be a literal",
		"SELECT matches(msg) FROM t":                     "takes a column and a text",
		"SELECT cordwood_matches(msg, '0t1:a') FROM t":   "not allowed",
		"SELECT msg.matches_term('a') FROM t":            "takes a column",
		"SELECT \"matches\"(msg, 'a') FROM t":            "do not quote the name",
		"SELECT matches_term(msg, 'a'::VARCHAR) FROM t":  "the search text must be a literal",
		"SELECT 'a' ~ '(' ":                              "missing closing )",
		"SELECT msg ~ msg FROM t":                        "must be a literal text",
		"SELECT matches(msg, '" + strings.Repeat("(", 100) + "a" + strings.Repeat(")", 100) + "') FROM t": "nested more than",
		"SELECT matches(msg, '" + strings.Repeat("NOT ", 100) + "a') FROM t":                              "nested more than",
		"SELECT matches(msg, '" + strings.Repeat("a ", 100) +
			"') FROM t": "more than 64 words",
	} {
		_, err := ask(e, sql, tab)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want …%s…", sql, err, want)
		}
		if code := errs.CodeOf(err); code != errs.InvalidArguments && code != errs.PlanQuery && code != errs.Unsupported {
			t.Errorf("%.60s: code %d", sql, code)
		}
	}
}

// FuzzSearchQuery checks that a query is answered, or refused before it runs.
func FuzzSearchQuery(f *testing.F) {
	for _, seed := range []string{
		"a", "a AND NOT b OR \"exact phrase\"", "((a)", "\"\\\"", "NOT", "日本 OR é", "a\x00b",
		"conn* AND +b -\"c d\" -(e*)", "*", "+-*",
	} {
		f.Add(seed)
	}
	e := openEngine(f, f.TempDir())
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ToValidUTF8(text, "") != text || strings.Contains(text, "\x00") {
			return
		}
		_, err := ask(e, "SELECT matches('some text', "+sql.QuoteText(text)+")")
		if err != nil && (errs.CodeOf(err) != errs.InvalidArguments || !strings.HasPrefix(err.Error(), "matches: ")) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// indexed writes a segment with a fulltext index on the messages, as a shard does.
func indexed(t testing.TB, dir string, columns []schema.Column, groupRows int, batches ...*column.Batch) query.Table {
	t.Helper()
	tab := table("t", columns)
	tab.Schema.ID = 1
	next := uint64(0)
	metas, err := segment.Write(segment.Config{
		FS: vfs.OS, Dir: dir, RowGroupRows: groupRows, NextID: func() uint64 { next++; return next },
	}, tab.Schema, batches)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range metas {
		s := query.Segment{
			Path: filepath.Join(dir, segment.FileName(m.ID)), CRC: m.FileCRC, Rows: m.Rows, MinTime: m.MinTime,
			MaxTime: m.MaxTime,
		}
		for _, c := range m.Columns {
			s.Columns = append(s.Columns, query.SegmentColumn{ID: c.ID, FieldID: c.FieldID, Name: c.Name, Type: c.Type})
		}
		tab.Segments = append(tab.Segments, s)
	}
	return tab
}

// TestFilters checks that bloom and token filters exclude what they can, and never a matching row.
func TestFilters(t *testing.T) {
	dir := t.TempDir()
	e, files := openEngine(t, dir), openEngine(t, dir)
	files.off("pages", "codes", "direct")
	columns := cols("ts:TimestampSecond", "id:String", "n:Int32", "msg:String")
	columns[1].Index = &schema.Index{Kind: schema.SkippingIndex, Options: schema.DefaultIndexOptions(schema.SkippingIndex)}
	columns[2].Index = columns[1].Index
	columns[3].Index = &schema.Index{Kind: schema.FulltextIndex, Options: schema.DefaultIndexOptions(schema.FulltextIndex)}
	var rows [][]any
	for i := range 2000 {
		rows = append(rows, []any{i, fmt.Sprintf("id%d", i), 3 * i, fmt.Sprintf("Message word%d of group%d", i, i/200)})
	}
	tab := indexed(t, dir, columns, 200, batch(t, columns, rows...))
	for _, c := range []struct {
		where string
		want  int
		left  int // maximum number of row groups; -1 means that the segment is not read
	}{
		{"id = 'id777'", 1, 2},
		{"id = 'nothing'", 0, -1},
		{"'id777' = id", 1, 2},
		{"id IN ('id1', 'id1999', 'x')", 2, 3},
		{"n = 300", 1, 2},
		{"n = 301", 0, -1},
		{"n = -1", 0, -1},
		{"id = 'id777' OR n = 3", 2, 4},
		{"id = 'id777' OR msg LIKE '%word5 %'", 2, 10},
		{"id = 'id777' AND n = 3", 0, -1},
		{"NOT id = 'id777'", 1999, 10},
		{"matches_term(msg, 'GROUP3')", 200, 2},
		{"matches_term(msg, 'absent')", 0, -1},
		{"matches(msg, 'word3 OR word1999')", 2, 3},
		{"matches(msg, 'word3 AND group9')", 0, 1},
		{"matches(msg, 'word199*')", 11, 10},
		{"matches(msg, 'word199* AND group9')", 10, 1},
		{"matches(msg, 'message NOT group9')", 1800, 10},
		{"matches(msg, '\"of group4\"')", 200, 2},
		{"NOT matches_term(msg, 'group3')", 1800, 10},
		{"matches_term(msg, 'word3') IS NULL", 0, 10},
		{"lower(id) = 'id777'", 1, 10},
	} {
		sql := "SELECT count(*) FROM t WHERE " + c.where
		if got := mustQuery(t, e, sql, tab); got[0] != fmt.Sprint(c.want) {
			t.Errorf("%s: got %s rows, want %d", c.where, got[0], c.want)
		}
		planned := plansOf(t, e, sql, tab, "pages", "codes", "direct")
		s := sourceOf(t, planned.Plans[0], false)
		left := -1
		if len(s.Plain) > 0 {
			left = 10
			if s.Plain[0].Groups != nil {
				left = 0
				for _, run := range s.Plain[0].Groups {
					left += int(run.Last-run.First+1) / 200
				}
			}
		}
		if left > c.left {
			t.Errorf("%s: %d row groups are read, want at most %d", c.where, left, c.left)
		}
	}
	// An index that was added later has no effect on older files, and an index with another
	// analyzer has no effect either.
	columns[3].Index = &schema.Index{
		Kind:    schema.FulltextIndex,
		Options: map[string]string{schema.IndexOptionCaseSensitive: "true"},
	}
	for sql, want := range map[string]string{"matches_term(msg, 'Message')": "2000", "matches_term(msg, 'message')": "0"} {
		if got := mustQuery(t, e, "SELECT count(*) FROM t WHERE "+sql, tab); got[0] != want {
			t.Errorf("%s: got %s, want %s", sql, got[0], want)
		}
	}
	other := t.TempDir()
	e = openEngine(t, other)
	tab = indexed(t, other, columns, 200, batch(t, columns, rows...))
	tab.Schema.Columns[3].Index = nil
	if got := mustQuery(t, e, "SELECT count(*) FROM t WHERE matches_term(msg, 'message')", tab); got[0] != "2000" {
		t.Errorf("without regard to case, over filters that have it: got %s", got[0])
	}
}
