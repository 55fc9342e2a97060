package syslog

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"cordwood/router/ingest/sockreceiver"
	"cordwood/router/ingest/sockreceiver/socktest"
	"cordwood/router/vrl/logformat/syslog"
	"cordwood/router/vrl/value"
)

// FuzzFraming checks that messages do not depend on how the bytes are split, that no message exceeds
// the maximum length, and that the framing always makes progress.
func FuzzFraming(f *testing.F) {
	f.Add([]byte("5 <13>x<13>line\r\n\x0012 <13>xxxxxxxx\n"), uint8(3))
	f.Add([]byte("99 <13>half"), uint8(1))
	f.Add([]byte("999999999 <13>"+strings.Repeat("x", 100)), uint8(9))
	f.Add([]byte("1234567890 <13>x\n12\n12 \n0 <1>"), uint8(2))
	f.Add([]byte(strings.Repeat("long", 30)+"\nnext\x00"), uint8(5))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		if len(data) > 10_000 {
			return
		}
		const most = 40
		read := func(step int) []string {
			return socktest.Split(&framing{max: most, cut: func() {}}, data, step, most+maxPrefix)
		}
		whole := read(len(data) + 1)
		if diff := cmp.Diff(whole, read(int(step)+1)); diff != "" {
			t.Errorf("whole and in pieces (-, +):\n%s", diff)
		}
		for _, m := range whole {
			if len(m) > most+maxPrefix {
				t.Errorf("a message of %d bytes", len(m))
			}
		}
	})
}

// FuzzRead checks that every text becomes a message, and that its structured data is JSON.
func FuzzRead(f *testing.F) {
	for i := range forms {
		f.Add(forms[i].text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := &syslog.Parser{Zone: time.UTC, Now: time.Now}
		old := *p
		old.Format = syslog.RFC3164
		in := &input{parser: p, old: &old}
		m, _ := in.read(&sockreceiver.Record{Data: []byte(text), From: "192.0.2.1"})
		if m.Host == "" || len(m.Text) > len(text) {
			t.Errorf("%+v", m)
		}
		json := appendData(nil, m.Data)
		if _, err := value.ParseJSON(string(json), value.JSONOptions{Strict: true}); err != nil || !utf8.Valid(json) {
			t.Errorf("%s: %v", json, err)
		}
	})
}
