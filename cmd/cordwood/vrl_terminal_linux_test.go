package main

import (
	"strings"
	"testing"
)

// TestReplOnTerminal completes functions, variables and fields.
func TestReplOnTerminal(t *testing.T) {
	term := onTerminal(t, nil, "vrl", "repl", "--event", `{"message":"größe","req":{"path":"/x","odd name":1}}`)
	term.wait("vrl> ")
	term.press(`"ä" + upcase(.mes` + "\t")
	term.wait("message")
	term.press(")\r")
	term.wait(`"äGRÖSSE"`)
	term.press(".req.pa\t\r")
	term.wait(`"/x"`)
	term.press(".req.odd\t\r")
	if got := term.wait("\r\n1"); !strings.Contains(got, `.req."odd name"`) {
		t.Errorf("got %q", got)
	}
	term.press("total = 40 + 2\rtot\t\r")
	term.wait("\r\n42")
	term.wait("\r\n42")
	term.press("parse_js\t\"[1]\") ?? 1\r")
	term.wait("parse_json(")
	term.press("\\?\r")
	term.wait("goes on in the next line")
	term.press("\\h upcase\r")
	term.wait("upcase(value: string)")
	term.press("\\q\r")
	term.end()
}
