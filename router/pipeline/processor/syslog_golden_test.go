package processor

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/router/vrl/value"
	"cordwood/router/vrl/vrltest"
)

// TestSyslogGolden checks the result of the processor for the lines with which all syslog parsers are tested. If
// the result for a format equals the previous one, its line is omitted.
func TestSyslogGolden(t *testing.T) {
	formats := []string{"auto", "rfc5424", "rfc3164"}
	var names Names
	var steps []Step
	for _, format := range formats {
		step, err := compileOne("syslog", `{field: m, year: 2024, timezone: Europe/Berlin, format: `+format+`}`,
			Env{}, &names)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	var b strings.Builder
	for _, text := range vrltest.Lines(t, "../../vrl/logformat/syslog/testdata/lines.txt") {
		fmt.Fprintf(&b, "%+q\n", text)
		last := ""
		for i, format := range formats {
			rec := NewRecord(&names)
			rec.Value = value.ObjectOf(value.Field{Key: "m", Value: value.NewString(text)})
			got := ""
			if err := steps[i].Apply(rec); err != nil {
				got = err.Error()
			} else {
				rec.Value.MutObject().Delete("m")
				got = string(value.AppendJSON(nil, rec.Value))
			}
			if got != last {
				fmt.Fprintf(&b, "  %s: %s\n", format, got)
			}
			last = got
		}
	}
	vrltest.Golden(t, "testdata/syslog.golden", b.String())
}
