package pattern_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/router/vrl/pattern"
)

// TestFind compares the text of the first match with want, which is "none" if there is no match.
func TestFind(t *testing.T) {
	const none = "none"
	tests := []struct{ name, pattern, text, want string }{
		{"literal", `b.d`, "abcd", "bcd"},
		{"dot and line end", `a.b`, "a\nb", none},
		{"dot all", `(?s)a.b`, "a\nb", "a\nb"},
		{"flags in a group", `(?i:A)b`, "ab", "ab"},
		{"flags off", `(?i)a(?-i)b`, "AB", none},
		{"flags end with their group", `(?:(?i)a)B`, "ab", none},
		{"case of many letters", `(?i)straße`, "STRAßE", "STRAßE"},
		{"first alternative wins", `a|ab`, "ab", "a"},
		{"lazy", `a+?`, "aaa", "a"},
		{"swapped greed", `(?U)a+`, "aaa", "a"},
		{"swapped greed, lazy", `(?U)a+?`, "aaa", "aaa"},

		{"word in ASCII", `\w+`, "ab_9-", "ab_9"},
		{"word beyond", `\w+`, "né!", "né"},
		{"digits beyond", `\d+`, "x٣٤", "٣٤"},
		{"space beyond", `a\sb`, "a\u00a0b", "a\u00a0b"},
		{"vertical tab", `a\sb`, "a\vb", "a\vb"},
		{"no Unicode", `(?-u)\w+`, "né", "n"},
		{"not a word", `\W+`, "né!é", "!"},
		{"not a digit, in a class", `[\D]+`, "٣x", "x"},
		{"not space, in a class", `[^\S]+`, "a \u2003b", " \u2003"},
		{"property", `\p{Greek}+`, "abγδ", "γδ"},
		{"property by letter", `\pL+`, "1ab2", "ab"},
		{"property negated", `\P{L}+`, "ab12", "12"},
		{"property with a key", `\p{sc=Greek}`, "aγ", "γ"},
		{"property spelled freely", `\p{lowercase letter}+`, "ABcd", "cd"},
		{"binary property", `\p{Alphabetic}+`, "12é", "é"},

		{"verbose", "(?x) a  b # all of it\n c", "abc", "abc"},
		{"verbose class", `(?x)[a b]+`, "a b", "a"},
		{"verbose blank", `(?x)a\ b`, "a b", "a b"},

		{"bracket first in a class", `[]a]+`, "]a", "]a"},
		{"bracket first in a negated class", `[^]a]+`, "]ab", "b"},
		{"dashes in a class", `[a-]+`, "-a", "-a"},
		{"nested class", `[a[bc]]+`, "abcd", "abc"},
		{"intersection", `[a-z&&[^aeiou]]+`, "aebcd", "bcd"},
		{"difference", `[a-z--[aeiou]]+`, "aebcd", "bcd"},
		{"symmetric difference", `[a-c~~b-d]+`, "bcad", "ad"},
		{"negated operation", `[^a-z&&[aeiou]]+`, "aebcd", "bcd"},
		{"operation of any case", `(?i)[a-z--[aeiou]]+`, "AEBcD", "BcD"},
		{"nothing", `[a&&b]`, "ab", none},
		{"named class", `[[:digit:]x]+`, "ax1", "x1"},
		{"named class negated", `[[:^digit:]]+`, "1ab", "ab"},

		{"numbers of characters", `\x41\x{42}\u0043\u{44}\U00000045`, "ABCDE", "ABCDE"},
		{"escaped signs", `\.\-\/\"\#`, `.-/"#`, `.-/"#`},
		{"brackets as they are", `a]b}`, "a]b}", "a]b}"},
		{"word boundaries", `\<b\>`, "ab b", "b"},
		{"word start", `\b{start}c`, "bc c", "c"},

		{"quantifier on quantifier", `(?:a{2}){2}$`, "aaaaa", "aaaa"},
		{"doubled quantifier", `a**b`, "aab", "aab"},
		{"quantifier from nothing", `a{,2}b`, "aaab", "aab"},
		{"many", `^a{1500}$`, strings.Repeat("a", 1500), strings.Repeat("a", 1500)},
		{"one too few", `^a{1500}$`, strings.Repeat("a", 1499), none},
		{"a range of many", `^a{2,2500}$`, strings.Repeat("a", 2400), strings.Repeat("a", 2400)},
		{"a range of too many", `^a{2,2500}$`, strings.Repeat("a", 2501), none},
		{"many of many", `^(?:a{100}){20}$`, strings.Repeat("a", 2000), strings.Repeat("a", 2000)},

		{"lines", `(?m)^b$`, "a\nb\nc", "b"},
		{"end of text only", `a$`, "a\n", none},
		{"start of text only", `(?m)\Ab`, "a\nb", none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			re, err := pattern.Compile(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			got := none
			if start, end, ok := re.Find(tt.text); ok {
				got = tt.text[start:end]
			}
			if got != tt.want {
				t.Errorf("Find(%q) = %q, want %q", tt.text, got, tt.want)
			}
			if re.Match(tt.text) != (tt.want != none) {
				t.Error("Match says otherwise")
			}
		})
	}
}

func TestGroups(t *testing.T) {
	re, err := pattern.Compile(`(?P<a.b>x)(y)?(?:(?<c>z)|w)`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"", "a.b", "", "c"}, re.Names()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{1, 3, 1, 2, -1, -1, 2, 3}, re.Groups("-xz")); diff != "" {
		t.Error(diff)
	}
	if got := len(re.All("xzxw", -1)); got != 2 {
		t.Errorf("%d matches, want 2", got)
	}
	var certain []bool
	for i := range re.Names() {
		certain = append(certain, re.Certain(i))
	}
	if want := []bool{true, true, false, false}; !slices.Equal(certain, want) {
		t.Errorf("certain groups %v, want %v", certain, want)
	}
}

func TestCompileErrors(t *testing.T) {
	tests := []struct{ name, pattern, want string }{
		{"look-ahead", `a(?=b)`, "look-around"},
		{"look-behind", `(?<!a)b`, "look-around"},
		{"reference back", `(a)\1`, "backreferences"},
		{"group not closed", `(a`, "unclosed group"},
		{"group not opened", `a)`, "unopened group"},
		{"class not closed", `[a`, "unclosed character class"},
		{"nothing to repeat", `*a`, "missing expression"},
		{"brace", `a{x}`, "valid decimal"},
		{"count backwards", `a{3,2}`, "start must be"},
		{"range backwards", `[z-a]`, "start must be"},
		{"name twice", `(?P<a>x)(?P<a>y)`, "duplicate"},
		{"bad name", `(?P<1>x)`, "invalid capture group name"},
		{"escape", `\Qa\E`, "unrecognized escape"},
		{"property", `\p{Klingon}`, "not found"},
		{"flag", `(?q)`, "unrecognized flag"},
		{"end", `a\`, "incomplete escape"},
		{"number", `\x{110000}`, "number of a character"},
		{"nesting", strings.Repeat("(", 300), "nested"},
		{"size", `((a{1000}){1000}){1000}`, "size limit"},
		{"length", strings.Repeat("a", pattern.MaxSource+1), "longer than"},
		{"bytes", "\xff", "UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := pattern.Compile(tt.pattern)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{`(?x)[a-z&&[^x]]+ # c`, `\p{L}{2,1500}?`, `(?P<a.b>\w)|(?i:é)`, `[[:alpha:]--\d~~\s]`} {
		f.Add(s, "text é 1")
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		if len(source) > 200 || len(text) > 200 {
			return
		}
		re, err := pattern.Compile(source)
		if err != nil {
			return
		}
		at := re.Groups(text)
		if at != nil && len(at) != 2*len(re.Names()) {
			t.Fatalf("%q: %d places for %d groups", source, len(at), len(re.Names()))
		}
		start, end, ok := re.Find(text)
		if ok != (at != nil) || ok && (start != at[0] || end != at[1]) {
			t.Fatalf("%q: Find and Groups differ", source)
		}
		if all := re.All(text, -1); (len(all) > 0) != ok || ok && !slices.Equal(all[0], at) {
			t.Fatalf("%q: All and Groups differ", source)
		}
	})
}

func BenchmarkAccessLine(b *testing.B) {
	re, err := pattern.Compile(`^(?P<host>[\w\.]+) - (?P<user>[\w]+) (?P<bytes_in>[\d]+) \[(?P<timestamp>.*)\] ` +
		`"(?P<method>[\w]+) (?P<path>.*)" (?P<status>[\d]+) (?P<bytes_out>[\d]+)$`)
	if err != nil {
		b.Fatal(err)
	}
	const line = `5.86.210.12 - zieme4647 5667 [19/06/2019:17:20:49 -0400] "GET ` +
		`/embrace/supply-chains/dynamic/vertical" 201 20574`
	for b.Loop() {
		if re.Groups(line) == nil {
			b.Fatal("no match")
		}
	}
}
