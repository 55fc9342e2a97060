package patterns

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cordwood/proto/schema"
	"cordwood/router/explore/roles"
	"cordwood/router/explore/search"
)

// TestMerge checks that masks are merged if they differ in one or two words, and not otherwise.
func TestMerge(t *testing.T) {
	for _, c := range []struct{ masks, want string }{
		{"job a of b done,job a of c done", "job a of ⟨*⟩ done"},
		{"job a of b done,job a of c ends", "job a of ⟨*⟩ ⟨*⟩"},
		{"job a of b done,job a to c ends", "job a of b done,job a to c ends"},
		{"open file,close file", "open file,close file"},
		{"open a,open b", "open ⟨*⟩"},
		{"a,b", "a,b"},
		{"a b c,a b c d", "a b c,a b c d"},
		{"a b c x,a b c y,a b c z", "a b c ⟨*⟩"},
	} {
		var tree tree[int]
		for mask := range strings.SplitSeq(c.masks, ",") {
			if tree.add(mask) == nil {
				t.Fatal("no room")
			}
		}
		var got []string
		for _, p := range tree.all {
			got = append(got, p.text())
		}
		if text := strings.Join(got, ","); text != c.want {
			t.Errorf("%s: %s, want %s", c.masks, text, c.want)
		}
	}
}

// TestManyMasks checks that masks that have nothing in common are merged in a limited time.
func TestManyMasks(t *testing.T) {
	var tree tree[int]
	refused := 0
	start := time.Now()
	for i := range maxMasks {
		if tree.add(fmt.Sprintf("same begin %d %d %d %s", i, i+1, i+2, strings.Repeat("x ", 50))) == nil {
			refused++
		}
	}
	if len(tree.all) > maxGroup || refused != maxMasks-len(tree.all) {
		t.Errorf("%d patterns, %d refused", len(tree.all), refused)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestQueryOfCut checks that a search for texts that go on after the pattern has no phrase with the pattern's last
// word, which may be the beginning of a longer word.
func TestQueryOfCut(t *testing.T) {
	for _, tt := range []struct {
		pattern    string
		whole, cut string
	}{
		{"disk full of zzzz", `m:"disk full of zzzz" m:~"x"`, `m:"disk full of" m:~"x"`},
		{"zzzz", `m:"zzzz" m:~"x"`, `m:~"x"`},
		{"disk ⟨*⟩ is full ", `m:"is full" m:"disk" m:~"x"`, `m:"is full" m:"disk" m:~"x"`},
	} {
		whole, cut := queryOf("m", tt.pattern, "x", true, false), queryOf("m", tt.pattern, "x", true, true)
		if whole != tt.whole || cut != tt.cut {
			t.Errorf("%s: %s, and cut %s", tt.pattern, whole, cut)
		}
	}
}

// FuzzQuery checks that the search text of any pattern can be parsed and compiled to a condition.
func FuzzQuery(f *testing.F) {
	f.Add("my text", `disk "⟨*⟩" full \ (⟨*⟩%)`)
	f.Add(`a"b\`, "⟨*⟩")
	f.Add("msg", `-~*:"= AND OR`)
	f.Fuzz(func(t *testing.T, field, pattern string) {
		if schema.CheckColumnName(field) != nil || len(pattern) > 2000 || strings.ContainsRune(pattern, 0) {
			return
		}
		text := queryOf(field, pattern, expression(pattern, true, len(pattern)%2 == 0), true, len(pattern)%3 == 0)
		q, err := search.Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "UTF-8") {
				return
			}
			t.Fatalf("%q: %v", text, err)
		}
		table := &schema.Table{Name: "t", Columns: []schema.Column{{ID: 1, Name: field, Type: schema.String}}}
		if _, err := q.Condition(search.NewColumns(table.Index(), roles.Chosen{})); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
