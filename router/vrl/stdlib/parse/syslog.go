package parse

import (
	"strings"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/logformat/syslog"
	"cordwood/router/vrl/value"
)

const syslogFailed = "unable to parse input as valid syslog message"

// parseSyslogLine reads a message by the loose rules of package syslog.
func parseSyslogLine(f *fn.Frame, v value.Value) (value.Value, bool) {
	s := v.Text()
	if !f.Reserve(256 + len(s)) {
		return value.Value{}, false
	}
	p := syslog.Parser{Loose: true, Zone: f.Host.Zone, Now: f.Host.Now}
	m, err := p.Parse(s)
	if err != nil {
		return f.Fail(syslogFailed)
	}
	b := newFields(12)
	if m.Priority >= 0 {
		if name := syslogFacility(m.Priority / 8); name != "" {
			b.str("facility", name)
		}
		b.str("severity", syslog.Severity(m.Priority%8))
	}
	if m.HasTime {
		b.add("timestamp", value.NewTimestamp(m.Time))
	}
	if m.Version >= 0 {
		b.add("version", value.NewInt(int64(m.Version)))
	}
	b.given("hostname", m.Host)
	b.given("appname", m.App)
	if m.Proc != "" && !b.integer("procid", m.Proc) {
		b.str("procid", m.Proc)
	}
	b.given("msgid", m.MsgID)
	for e := m.Data.Elements(); e.Next(); {
		id := e.ID
		data := syslogParams(f, &e)
		if id != "" && !syslogFieldNames[id] {
			b.add(id, data)
		}
	}
	b.str("message", m.Text)
	return b.value(), true
}

// given adds s, unless it is empty or a dash, which stands for a missing value.
func (b *fields) given(key, s string) {
	if s != "" {
		b.text(key, s)
	}
}

// syslogFacility returns the name of a facility. Three names differ from those of to_syslog_facility.
func syslogFacility(number int) string {
	switch number {
	case 13:
		return "audit"
	case 14:
		return "alert"
	case 15:
		return "clockd"
	}
	return syslog.Facility(number)
}

var syslogFieldNames = map[string]bool{
	"facility": true, "severity": true, "version": true, "timestamp": true, "hostname": true,
	"appname": true, "procid": true, "msgid": true, "message": true,
}

// syslogParams returns an object with the parameters of an element. If a name is repeated, the last one counts.
func syslogParams(f *fn.Frame, e *syslog.Elements) value.Value {
	var list []value.Field
	for e.Param() {
		text := e.Value
		if strings.IndexByte(text, '\\') >= 0 {
			text = fn.Unsafe(syslog.AppendValue(f.Bytes(len(text))[:0], text))
		}
		list = append(list, value.Field{Key: e.Name, Value: value.NewString(text)})
	}
	return gather(list, func(_, last value.Value) value.Value { return last })
}

var syslogKind = kind.ObjectOf(
	kind.Field{Name: "message", Kind: kind.String},
	kind.Field{Name: "hostname", Kind: kind.String.OrUndefined()},
	kind.Field{Name: "severity", Kind: kind.String.OrUndefined()},
	kind.Field{Name: "facility", Kind: kind.String.OrUndefined()},
	kind.Field{Name: "appname", Kind: kind.String.OrUndefined()},
	kind.Field{Name: "msgid", Kind: kind.String.OrUndefined()},
	kind.Field{Name: "procid", Kind: kind.Or(kind.String, kind.Integer).OrUndefined()},
	kind.Field{Name: "version", Kind: kind.Integer.OrUndefined()},
	kind.Field{Name: "timestamp", Kind: kind.Timestamp.OrUndefined()},
).WithOthers(kind.ObjectAll(kind.String))

var parseSyslog = &fn.Function{
	Name:  "parse_syslog",
	Group: fn.Parse,
	Doc: "Parses a syslog message of RFC 5424, or of RFC 3164 and its many variants. Fields that the message " +
		"does not have are left out. Each element of structured data becomes an object under its id. A time " +
		"without a year gets the current year, or the previous year if the time is in December and it is now " +
		"January. A time without an offset is in the time zone of the run.",
	Params:   []fn.Param{fn.ValueParam("The message.")},
	Returns:  syslogKind,
	Fallible: true,
	Errors:   []string{"the text has neither a priority nor a time"},
	Examples: []fn.Example{
		{
			Title:  "RFC 5424",
			Source: `parse_syslog!(s'<13>1 2024-03-13T20:45:38.119Z web1 app 2426 ID9 [req@1 path="/a"] all is well')`,
			Result: `{"appname":"app","facility":"user","hostname":"web1","message":"all is ` +
				`well","msgid":"ID9","procid":2426,"req@1":{"path":"/a"},"severity":"notice",` +
				`"timestamp":"2024-03-13T20:45:38.119Z","version":1}`,
		},
		{Title: "RFC 3164", Source: `parse_syslog!("<34>Oct 11 2024 22:14:15 web1 su[7]: no").appname`, Result: `"su"`},
		{Title: "neither", Source: `parse_syslog!("hello")`, Fails: syslogFailed},
	},
	Impl: fn.Impl{F1: parseSyslogLine},
}

var parseLinuxAuthorization = &fn.Function{
	Name:     "parse_linux_authorization",
	Group:    fn.Parse,
	Doc:      "Parses a line of `/var/log/auth.log` or `/var/log/secure`, like parse_syslog.",
	Params:   []fn.Param{fn.ValueParam("The line.")},
	Returns:  syslogKind,
	Fallible: true,
	Errors:   []string{"the line has neither a priority nor a time"},
	Examples: []fn.Example{
		{
			Title:  "a line",
			Source: `parse_linux_authorization!("Mar 23 01:49:58 web1 sshd[17]: session closed").procid`,
			Result: `17`,
		},
	},
	Impl: fn.Impl{F1: parseSyslogLine},
}
