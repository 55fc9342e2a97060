package timefmt

import (
	"testing"
	"time"
)

func BenchmarkParse(b *testing.B) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		b.Skip(err)
	}
	for _, tt := range []struct {
		name, pattern, text string
		opt                 ParseOptions
	}{
		{"common_log", "%d/%b/%Y:%T %z", "10/Oct/2000:13:55:36 -0700", ParseOptions{}},
		{"iso", "%Y-%m-%dT%H:%M:%S%.f%:z", "2024-05-06T07:08:09.123456+02:00", ParseOptions{}},
		{"zone", "%Y-%m-%d %H:%M:%S", "2024-05-06 07:08:09", ParseOptions{Zone: berlin}},
		{"weekday", "%a %b %e %T %Y", "Sun Jul  8 00:34:59 2001", ParseOptions{}},
		{"epoch", "%s", "1700000000", ParseOptions{}},
		{"mismatch", "%Y-%m-%dT%H:%M:%S%.f%:z", "10/Oct/2000:13:55:36 -0700", ParseOptions{}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			f := mustCompile(b, tt.pattern)
			b.ReportAllocs()
			b.SetBytes(int64(len(tt.text)))
			for b.Loop() {
				f.TryUnix(tt.text, tt.opt)
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	t := time.Date(2001, 7, 8, 0, 34, 59, 26_490_708, time.UTC)
	for _, pattern := range []string{"%d/%b/%Y:%T %z", "%+", "%c"} {
		b.Run(pattern, func(b *testing.B) {
			f := mustCompile(b, pattern)
			buf := make([]byte, 0, 64)
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = f.Append(buf[:0], t)
			}
		})
	}
}
