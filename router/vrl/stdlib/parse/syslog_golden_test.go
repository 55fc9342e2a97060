package parse_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl"
	"cordwood/router/vrl/value"
	"cordwood/router/vrl/vrltest"
)

// TestSyslogGolden checks the results of parse_syslog for the lines with which all syslog parsers are tested, in
// UTC and in a zone whose clocks change. If the result for a zone equals the previous one, its line is omitted.
func TestSyslogGolden(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin"}
	var programs []*vrl.Program
	for _, name := range zones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		now := func() time.Time { return time.Date(2025, 1, 2, 0, 0, 0, 0, time.UTC) }
		p, _, err := vrl.Compile(`parse_syslog!(.m)`, vrl.Options{Zone: zone, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, p)
	}
	var b strings.Builder
	for _, text := range vrltest.Lines(t, "../../logformat/syslog/testdata/lines.txt") {
		fmt.Fprintf(&b, "%+q\n", text)
		last := ""
		for i, zone := range zones {
			event := value.ObjectOf(value.Field{Key: "m", Value: value.NewString(text)})
			got := ""
			if v, err := programs[i].Run(&event, nil); err != nil {
				got = err.Error()
			} else {
				got = string(value.AppendJSON(nil, v))
			}
			if got != last {
				fmt.Fprintf(&b, "  %s: %s\n", zone, got)
			}
			last = got
		}
	}
	vrltest.Golden(t, "testdata/syslog.golden", b.String())
}
