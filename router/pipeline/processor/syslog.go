package processor

import (
	"time"

	"cordwood/router/vrl/timefmt"
	"cordwood/router/vrl/value"
)

// compileSyslog: syslog reads messages as RFC 5424 and RFC 3164 have them.
//
//	format:   auto (default), rfc5424 or rfc3164; auto takes a priority followed by a
//	          version, as in <34>1, for RFC 5424
//	timezone: IANA name of the zone of times without an offset; default UTC
//	year:     the year of times without one; default the latest that makes no time lie
//	          more than a day ahead
//	prefix:   text in front of the names of all fields; default none
//
// What a message has becomes fields of the record; if the field list gives a new name,
// members of an object of that name: facility and severity (words, such as local0 and
// err), timestamp, hostname, appname, procid, message, and of RFC 5424 also version,
// msgid and structured_data, an object with an object for each element. The field itself
// stays, unless its name is one of these, as message often is.
//
// Of RFC 3164 the many variants are read too: without priority, as in files; without
// host; with a year, a fraction of the second or a time of RFC 3339; without tag. What
// has neither a priority nor a time is an error.
func compileSyslog(o *Options) Apply {
	fields := o.Fields()
	p := syslogParser{now: time.Now, zone: time.UTC}
	switch o.Choice("format", "auto", "rfc5424", "rfc3164") {
	case "rfc5424":
		p.only5424 = true
	case "rfc3164":
		p.only3164 = true
	}
	if n := o.Get("timezone"); n != nil {
		if name, ok := n.String(); ok {
			if zone := timefmt.Zone(name); zone == nil {
				n.Fault("unknown time zone %q, expected an IANA name such as Europe/Berlin", Cut(name))
			} else {
				p.zone = zone
			}
		}
	}
	if n := o.Get("year"); n != nil {
		if year, ok := n.Int(); ok && (year < 1970 || year > 2261) {
			n.Fault("expected a year from 1970 to 2261, found %d", year)
		} else if ok {
			p.year = int(year)
		}
	}
	prefix := o.String("prefix", "")
	return fields.EachString(func(rec *Record, fl *Field, s string) error {
		m, problem := p.parse(rec, s)
		if problem != "" {
			return rec.Fail(fl.In.Text, value.NewString(s), "%s", problem)
		}
		m.spread(rec.spread(fl, prefix))
		return nil
	})
}

// syslogMessage is a message. Texts that it lacks are "".
type syslogMessage struct {
	priority int // -1 if it has none
	version  int // 0 for RFC 3164
	time     value.Value
	host     string
	app      string
	proc     string
	msgID    string
	data     value.Value
	text     string
}

// The words for facilities and severities, by number.
var (
	syslogFacilities = [24]string{
		"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp",
		"ntp", "security", "console", "solaris-cron", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
	}
	syslogSeverities = [8]string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"}
)

func (m *syslogMessage) spread(out spread) {
	text := func(key, s string) {
		if s != "" {
			out.add(key, value.NewString(s))
		}
	}
	text("appname", m.app)
	if m.priority >= 0 {
		text("facility", syslogFacilities[m.priority>>3])
	}
	text("hostname", m.host)
	out.add("message", value.NewString(m.text))
	text("msgid", m.msgID)
	text("procid", m.proc)
	if m.priority >= 0 {
		text("severity", syslogSeverities[m.priority&7])
	}
	if m.data.IsDefined() {
		out.add("structured_data", m.data)
	}
	if m.time.IsDefined() {
		out.add("timestamp", m.time)
	}
	if m.version > 0 {
		out.add("version", value.NewInt(int64(m.version)))
	}
	out.done()
}
