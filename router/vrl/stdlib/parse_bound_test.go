package stdlib_test

import (
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl"
	"cordwood/router/vrl/value"
)

// TestParsersAreLinear holds that no parser takes long on a text made to be slow to read.
// The bound is far above what a linear parser takes, and far below a quadratic one.
func TestParsersAreLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const size = 256 << 10
	fill := func(head, piece string) string { return head + strings.Repeat(piece, size/len(piece)) }
	texts := []string{
		fill("", "a"), fill("", " "), fill("", "\""), fill("", "'a="), fill("", "="), fill("", "["), fill("", "{"), fill("", "<"),
		fill("", ", client: "), fill("<13>1 - - - - - ", "[a b=\"c\" "), fill("CEF:0|a|b|c|d|e|f|a=", "="), fill("CEF:0|a|b|c|d|e|f|", "a=b "),
		fill("1.1.1.1 - ", "a ["), fill(`1.1.1.1 - - [10/Oct/2024:13:55:36 +0000] "`, `" 200 1 "`), fill("", "<a b='"), fill("", "a=\\\" "),
		fill("", "a=< "), fill("", "- "), fill("[", "1,"), fill("", "a: &a [*a, "), fill("", "1s"), fill("http://a/", "../"), fill("", "a."),
	}
	for _, source := range parsers {
		p, _, err := vrl.Compile("x = string(.x) ?? \"\"\n.x = x\n"+source, vrl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			event := value.ObjectOf(value.Field{Key: "x", Value: value.NewString(text)})
			meta := value.ObjectOf()
			start := time.Now()
			_, err := p.Run(&event, &meta) // it may also run out of its budget
			if took := time.Since(start); took > time.Second {
				t.Errorf("%s on %.40q… takes %v (%v)", source, text, took, err)
			}
		}
	}
}
