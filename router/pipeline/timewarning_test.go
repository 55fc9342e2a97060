package pipeline

import (
	"slices"
	"strings"
	"testing"
)

// TestTimeWarning checks that a client learns of a field that is probably the time of its records and is stored as a
// text or a number, with the parameter that makes it the time index, unless the table exists already.
func TestTimeWarning(t *testing.T) {
	advise := func(r *Request) { r.AdviseTime = true }
	for _, tt := range []struct {
		name, record, want string
		change             changes
	}{
		{"RFC 3339", `{"a":1,"ts":"2026-11-29T20:00:00.5Z"}`, "custom_time_index=ts;rfc3339", changes{advise}},
		{"an offset", `{"@timestamp":"2026-11-29T20:00:00+01:00"}`, "custom_time_index=@timestamp;rfc3339", changes{advise}},
		{"milliseconds", `{"Time":1796000000123}`, "custom_time_index=Time;epoch;ms", changes{advise}},
		{"nanoseconds", `{"time":1796000000123456789}`, "custom_time_index=time;epoch;ns", changes{advise}},
		{"another text", `{"ts":"yesterday"}`, "", changes{advise}},
		{"a small number", `{"time":17}`, "", changes{advise}},
		{"another field", `{"created_at":"2026-11-29T20:00:00Z"}`, "", changes{advise}},
		{"the time index", `{"ts":"2026-11-29T20:00:00Z"}`, "", changes{advise, timeIndex("ts;rfc3339")}},
		{
			"an existing table", `{"ts":"2026-11-29T20:00:00Z"}`, "",
			changes{advise, having("svc_timestamp TimestampNanosecond ti, ts String")},
		},
		{"another protocol", `{"ts":"2026-11-29T20:00:00Z"}`, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runner, err := NewIdentity(request(tt.change...))
			if err != nil {
				t.Fatal(err)
			}
			defer runner.Release()
			for _, record := range []string{`{"b":1}`, tt.record} {
				if err := runner.ScanLine([]byte(record)); err != nil {
					if tt.name == "the time index" {
						continue // the first record has no time
					}
					t.Fatal(err)
				}
			}
			out, err := runner.Finish()
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(out.Warnings, func(w string) bool {
				return strings.Contains(w, "/v1/ingest?table=t&pipeline_name=svc_identity&"+tt.want+")")
			})
			if found != (tt.want != "") || tt.want == "" && len(out.Warnings) > 0 {
				t.Errorf("warnings %q, want %q", out.Warnings, tt.want)
			}
		})
	}
}
