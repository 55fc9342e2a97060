package exchange

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestHeaderText(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\r\nSet-Cookie: x": "a  Set-Cookie: x", "tab\tünï": "tab  n ", "±2^53 …": "+/-2^53 ...",
		strings.Repeat("x", 5000): strings.Repeat("x", maxHeaderText),
	} {
		if got := HeaderText(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestAppendJSONString(t *testing.T) {
	for _, s := range []string{"", `a"b\c`, "line\nbreak\x00\x1f\x7f", "<script>&", "ünï\U0001F600", "bad\xffutf"} {
		var got string
		out := AppendJSONString(nil, s)
		if err := json.Unmarshal(out, &got); err != nil || got != strings.ToValidUTF8(s, "\uFFFD") {
			t.Errorf("%q: %s (%v)", s, out, err)
		}
	}
	// People copy commands from error texts.
	if got := string(AppendJSONString(nil, "table=<NAME>&x=(d->>'n')::INT")); got != `"table=<NAME>&x=(d->>'n')::INT"` {
		t.Error(got)
	}
}
