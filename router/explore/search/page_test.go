package search

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf16"
)

// pageParser is a program that prints the tokens of each text in a list, according to the page's parser, or that
// the text has a fault.
const pageParser = `
import { parseSearch } from '../../web/app/lib/search.js';
let text = '';
for await (const part of process.stdin) text += part;
console.log(JSON.stringify(JSON.parse(text).map((t) => {
  const { tokens, fault } = parseSearch(t);
  return {
    fault: fault ? [fault.from, fault.to, fault.message] : null,
    tokens: tokens.map((x) => [x.kind, x.from, x.to]),
  };
})));
`

// pageAnswer is the result of the page's parser for a text. Positions count UTF-16 units.
type pageAnswer struct {
	Fault  []any
	Tokens [][3]any
}

// TestPageParser compares the page's parser, which is written in JavaScript, with this one: for random texts,
// both must refuse the same texts and find the same tokens in the others.
func TestPageParser(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	texts := randomTexts(20_000)
	for _, c := range cases(t) {
		texts = append(texts, c.Text)
	}
	in, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "--input-type=module", "-e", pageParser)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &errOut)
	}
	var answers []pageAnswer
	if err := json.Unmarshal(out.Bytes(), &answers); err != nil || len(answers) != len(texts) {
		t.Fatalf("%d answers to %d texts, %v", len(answers), len(texts), err)
	}
	wrong := 0
	for i, text := range texts {
		if why := differs(text, &answers[i]); why != "" {
			t.Errorf("%q: %s", text, why)
			if wrong++; wrong == 20 {
				t.Fatal("and more")
			}
		}
	}
}

// differs describes how the results of this parser and of the page's differ for a text; empty if they do not.
func differs(text string, page *pageAnswer) string {
	q, err := Parse(text)
	switch {
	case err != nil && page.Fault == nil:
		return "only the page takes it: " + err.Error()
	case err == nil && page.Fault != nil:
		return "only the page refuses it: " + page.Fault[2].(string)
	case err != nil:
		e := (*Error)(nil)
		if errors.As(err, &e) && units(text, e.Offset) != int(page.Fault[0].(float64)) {
			return "its fault is elsewhere on the page: " + err.Error() + ", and " + page.Fault[2].(string)
		}
		return ""
	case len(q.Tokens) != len(page.Tokens):
		return "the page has other tokens"
	}
	for i, tok := range q.Tokens {
		p := page.Tokens[i]
		if string(tok.Kind) != p[0] || units(text, tok.Offset) != int(p[1].(float64)) ||
			units(text, tok.Offset+tok.Length) != int(p[2].(float64)) {
			return "token " + text[tok.Offset:tok.Offset+tok.Length] + " is another one on the page"
		}
	}
	return ""
}

// units returns the position of a byte as JavaScript counts it.
func units(text string, at int) int {
	return len(utf16.Encode([]rune(text[:at])))
}

// randomTexts returns texts that consist of parts of the language and other parts.
func randomTexts(n int) []string {
	parts := []string{
		" ", " ", " ", " ", "  ", "\n", "\t", "a", "err", "host", "level", "status", "ts", "*", ":", ":", ":",
		"=", "(", ")", "-", "~", `"`, `"`, `\`, `\"`, "OR", " OR ", "AND", "NOT", " NOT ", ">", "<", ">=",
		"<=", "..", "1", "500", "1.5", ".", "/", "//", "http", "12:30", "2026-01-05", "T10:00Z", "ä", "Ö",
		"日本", "😀", "\u00a0", "\u2003", "'", "%", "[", "]", "{", "}", "_", "extra.user",
		"kubernetes.namespace", "error", "warn", "+", "|", "||", "&&", "!", "^", "$", "?", ",", ";", "\r",
		"\v", "\f", "\u200b", "\ufeff", "\u0085",
	}
	r := rand.New(rand.NewPCG(21, 7)) //nolint:gosec // texts of a test
	texts := make([]string, n)
	for i := range texts {
		var b strings.Builder
		for range 1 + r.IntN(9) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
		texts[i] = b.String()
	}
	return texts
}
