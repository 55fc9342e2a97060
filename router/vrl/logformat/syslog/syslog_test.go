package syslog

import (
	"strings"
	"testing"
	"time"
)

func TestSyslogYear(t *testing.T) {
	cases := []struct{ now, text, want string }{
		{"2024-06-15T12:00:00Z", "Jun 15 11:00:00", "2024-06-15T11:00:00Z"},
		{"2024-06-15T12:00:00Z", "Jun 16 11:00:00", "2024-06-16T11:00:00Z"},
		{"2024-06-15T12:00:00Z", "Jun 17 11:00:00", "2023-06-17T11:00:00Z"},
		{"2024-01-01T00:00:01Z", "Dec 31 23:59:59", "2023-12-31T23:59:59Z"},
		{"2023-12-31T23:59:59Z", "Jan  1 00:00:01", "2024-01-01T00:00:01Z"},
		{"2023-06-15T12:00:00Z", "Feb 29 11:00:00", "2020-02-29T11:00:00Z"},
		{"2023-06-15T12:00:00Z", "Feb 30 11:00:00", "none"},
		{"2023-06-15T12:00:00Z", "Dec 31 23:59:60", "2023-01-01T00:00:00Z"},
	}
	for _, c := range cases {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		p := Parser{Zone: time.UTC, Now: func() time.Time { return now }}
		got := "none"
		if at, _, ok := p.time3164(c.text); ok {
			got = at.Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%s at %s: %s, want %s", c.text, c.now, got, c.want)
		}
	}
}

// TestRefused checks that a refused message still has its priority, so that a caller can store the text with it.
func TestRefused(t *testing.T) {
	p := Parser{Zone: time.UTC, Now: time.Now}
	m, err := p.Parse("<34>1 yesterday h a - - - x")
	if err == nil || m.Priority != 34 {
		t.Errorf("priority %d, error %v", m.Priority, err)
	}
}

// TestElements checks that Next moves to the next element even if parameters of the current element were not read.
func TestElements(t *testing.T) {
	p := Parser{Zone: time.UTC, Now: time.Now}
	m, err := p.Parse(`<34>1 - h a - - [a x="1" y="2"][b][c z="\"3\\"] text`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e := m.Data.Elements(); e.Next(); {
		got = append(got, e.ID)
		if e.Param() {
			got = append(got, e.Name+"="+string(AppendValue(nil, e.Value)))
		}
	}
	if text := strings.Join(got, " "); text != `a x=1 b c z="3\` || m.Text != "text" {
		t.Errorf("%s, text %q", text, m.Text)
	}
}

func TestAllocations(t *testing.T) {
	p := Parser{Zone: time.UTC, Now: time.Now}
	for _, s := range []string{
		`<165>1 2003-10-11T22:14:15.003Z host.example.com evntslog 17 ID47 [ex@1 iut="3" src="a"] An event`,
		`<34>Oct 11 22:14:15 mymachine sshd[1234]: Failed password for root`,
		`2024-01-02T03:04:05.123456+01:00 h cron[7]: x`,
	} {
		if n := testing.AllocsPerRun(100, func() {
			m, err := p.Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			for e := m.Data.Elements(); e.Next(); {
				for e.Param() {
				}
			}
		}); n > 0 {
			t.Errorf("%v allocations for %s", n, s)
		}
	}
}

// FuzzParse checks that the texts of a message are parts of the parsed text, and that its structured data can be read
// to the end.
func FuzzParse(f *testing.F) {
	f.Add(`<165>1 2003-10-11T22:14:15.003Z h a 17 ID47 [ex@1 iut="3" src="a \"b\\ \]"][y] An event`)
	f.Add(`<34>Oct 11 22:14:15 mymachine su[17]: failed`)
	f.Add(`2024-01-02T03:04:05,123+01:00 h cron[7]: x`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, loose := range []bool{false, true} {
			p := Parser{Loose: loose, Zone: time.UTC, Now: time.Now}
			m, err := p.Parse(s)
			if err != nil {
				continue
			}
			for _, part := range []string{m.Host, m.App, m.Proc, m.MsgID, m.Text} {
				if !strings.Contains(s, part) {
					t.Errorf("%q: %q", s, part)
				}
			}
			e := m.Data.Elements()
			for e.Next() {
				for e.Param() {
				}
			}
			if e.failed || e.rest != "" {
				t.Errorf("%q: structured data ends at %q", s, e.rest)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{
			"rfc5424",
			`<165>1 2003-10-11T22:14:15.003Z host.example.com evntslog 17 ID47 [ex@1 iut="3" src="a"] An event of an ` +
				`application`,
		},
		{"rfc3164", `<34>Oct 11 22:14:15 mymachine sshd[1234]: Failed password for root from 10.0.0.1 port 22 ssh2`},
	} {
		p := Parser{Zone: time.UTC, Now: time.Now}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Parse(c.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
