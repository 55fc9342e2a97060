package processor

import (
	"strings"

	"cordwood/router/vrl/value"
)

// compileDecolorize: decolorize removes ANSI sequences for colours and styles from strings: escape, [, digits and
// semicolons, m. There are no options.
func compileDecolorize(o *Options) Apply {
	return o.Fields().MapStrings(func(rec *Record, s string) (value.Value, error) {
		from, to := nextColor(s)
		if to == 0 {
			return value.NewString(s), nil
		}
		b := rec.Scratch[:0]
		for to > 0 {
			b = append(b, s[:from]...)
			s = s[to:]
			from, to = nextColor(s)
		}
		b = append(b, s...)
		rec.Scratch = b
		return rec.Text(b), nil
	})
}

// nextColor returns the start and end of the first colour sequence in s; 0, 0 if there is none.
func nextColor(s string) (from, to int) {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], 0x1b)
		if i < 0 {
			return 0, 0
		}
		from, at = at+i, at+i+1
		if at == len(s) || s[at] != '[' {
			continue
		}
		at++
		for at < len(s) && (s[at] >= '0' && s[at] <= '9' || s[at] == ';') {
			at++
		}
		if at < len(s) && s[at] == 'm' {
			return from, at + 1
		}
	}
}
