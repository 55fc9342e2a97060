package parse

import (
	"strconv"
	"strings"
	"time"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/timefmt"
	"cordwood/router/vrl/value"
)

var googleLevels = map[byte]string{'I': "info", 'W': "warning", 'E': "error", 'F': "fatal"}

// googleLine is a line such as "I0505 17:59:40.692994 28133 main.go:70] message".
type googleLine struct {
	level                         byte
	date, clock, id, file, number string
	message                       string
}

// cut splits a line into its parts. dateLen is the number of digits of its date.
func (l *googleLine) cut(s string, dateLen int) bool {
	s = strings.TrimSpace(s)
	if len(s) < dateLen+2 || !ascii.IsWord(s[0]) || ascii.Digits(s[1:]) != dateLen || !ascii.IsSpace(s[dateLen+1]) {
		return false
	}
	l.level, l.date, s = s[0], s[1:dateLen+1], s[dateLen+1:]
	l.clock, s = ascii.CutWord(ascii.SkipSpace(s))
	l.id, s = ascii.CutWord(ascii.SkipSpace(s))
	if len(l.clock) < 10 || l.id == "" || ascii.Digits(l.id) != len(l.id) {
		return false
	}
	head, message, ok := strings.Cut(ascii.SkipSpace(s), "]")
	i := strings.LastIndexByte(head, ':')
	if !ok || i < 0 || i+1 == len(head) || ascii.Digits(head[i+1:]) != len(head)-i-1 {
		return false
	}
	l.file, l.number, l.message = head[:i], head[i+1:], strings.TrimSpace(message)
	return true
}

// googleLog returns a parser for such lines.
func googleLog(name, format string, dateLen int) func(f *fn.Frame, v value.Value) (value.Value, bool) {
	lay := mustLayout(format)
	return func(f *fn.Frame, v value.Value) (value.Value, bool) {
		var l googleLine
		if !l.cut(v.Text(), dateLen) {
			return f.Fail("failed parsing " + name + " message")
		}
		level, ok := googleLevels[l.level]
		if !ok {
			return f.Failf("unrecognized log level %q", string(rune(l.level)))
		}
		text := l.date + " " + l.clock
		full := text
		if dateLen == 4 {
			month, _ := strconv.Atoi(l.date[:2])
			full = strconv.Itoa(guessYear(f, time.Month(month))) + text
		}
		sec, nsec, err := lay.format.ParseUnix(full, timefmt.ParseOptions{Zone: f.Host.Zone})
		if err != nil {
			return f.Failf("failed parsing timestamp %s: %s", text, reason(err))
		}
		b := newFields(6)
		b.str("file", l.file)
		if !b.integer("id", l.id) {
			return f.Fail("failed parsing id: it does not fit 64 bits")
		}
		b.str("level", level)
		if !b.integer("line", l.number) {
			return f.Fail("failed parsing line: it does not fit 64 bits")
		}
		b.str("message", l.message)
		b.add("timestamp", value.NewUnix(sec, uint32(nsec)))
		return b.value(), true
	}
}

var googleKind = kind.ObjectOf(
	kind.Field{Name: "file", Kind: kind.String}, kind.Field{Name: "id", Kind: kind.Integer},
	kind.Field{Name: "level", Kind: kind.String}, kind.Field{Name: "line", Kind: kind.Integer},
	kind.Field{Name: "message", Kind: kind.String}, kind.Field{Name: "timestamp", Kind: kind.Timestamp},
)

var parseKlog = &fn.Function{
	Name:  "parse_klog",
	Group: fn.Parse,
	Doc: "Parses a line of klog, the logger of Kubernetes. Its time has no year: it gets the current year, or " +
		"the previous year if the time is in December and it is now January.",
	Params:   []fn.Param{fn.ValueParam("The line.")},
	Returns:  googleKind,
	Fallible: true,
	Errors:   []string{"the line is not in the format", "its level is not I, W, E or F", "its time is invalid"},
	Examples: []fn.Example{
		{
			Title:  "a line",
			Source: `parse_klog!("I0505 17:59:40.692994   28133 main.go:70] ready").message`,
			Result: `"ready"`,
		},
		{
			Title:  "another level",
			Source: `parse_klog!("X0505 17:59:40.692994   28133 main.go:70] ready")`,
			Fails:  `unrecognized log level "X"`,
		},
	},
	Impl: fn.Impl{F1: googleLog("klog", "%Y%m%d %H:%M:%S%.f", 4)},
}

var parseGlog = &fn.Function{
	Name:     "parse_glog",
	Group:    fn.Parse,
	Doc:      "Parses a line of glog, Google's logger for C++.",
	Params:   []fn.Param{fn.ValueParam("The line.")},
	Returns:  googleKind,
	Fallible: true,
	Errors:   []string{"the line is not in the format", "its level is not I, W, E or F", "its time is invalid"},
	Examples: []fn.Example{
		{
			Title: "a line", Source: `parse_glog!("W20240131 14:48:54.411655 15520 main.cc:9] low on space")`,
			Result: `{"file":"main.cc","id":15520,"level":"warning","line":9,"message":"low on ` +
				`space","timestamp":"2024-01-31T14:48:54.411655Z"}`,
		},
	},
	Impl: fn.Impl{F1: googleLog("glog", "%Y%m%d %H:%M:%S%.f", 8)},
}
