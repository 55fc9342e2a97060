package processor

import (
	"strings"
	"time"

	"cordwood/router/vrl/logformat/syslog"
	"cordwood/router/vrl/timefmt"
	"cordwood/router/vrl/value"
)

// compileSyslog: syslog parses messages in the formats of RFC 5424 and RFC 3164.
//
//	format:   auto (default), rfc5424 or rfc3164; auto takes a priority followed by a
//	          version, as in <34>1, for RFC 5424
//	timezone: IANA name of the zone of times without an offset; default UTC
//	year:     the year of times without one; default the latest that makes no time lie
//	          more than a day ahead
//	prefix:   text in front of the names of all fields; default none
//
// The parts of a message become fields of the record; if the field list gives a new name,
// members of an object of that name: facility and severity (words, such as local0 and
// err), timestamp, hostname, appname, procid, message, and of RFC 5424 also version,
// msgid and structured_data, an object with an object for each element. The field itself
// stays, unless its name is one of these, as message often is.
//
// Many variants of RFC 3164 are supported: without a priority, as in files; without a host; with a year, a fraction
// of a second or a time of RFC 3339; without a tag. A message with neither a priority nor a time is an error.
func compileSyslog(o *Options) Apply {
	fields := o.Fields()
	p := &syslog.Parser{Now: time.Now, Zone: time.UTC}
	switch o.Choice("format", "auto", "rfc5424", "rfc3164") {
	case "rfc5424":
		p.Format = syslog.RFC5424
	case "rfc3164":
		p.Format = syslog.RFC3164
	}
	if n := o.Get("timezone"); n != nil {
		if name, ok := n.String(); ok {
			if zone := timefmt.Zone(name); zone == nil {
				n.Fault("unknown time zone %q, expected an IANA name such as Europe/Berlin", Cut(name))
			} else {
				p.Zone = zone
			}
		}
	}
	if n := o.Get("year"); n != nil {
		if year, ok := n.Int(); ok && (year < 1970 || year > 2261) {
			n.Fault("expected a year from 1970 to 2261, found %d", year)
		} else if ok {
			p.Year = int(year)
		}
	}
	prefix := o.String("prefix", "")
	return fields.EachString(func(rec *Record, fl *Field, s string) error {
		m, err := p.Parse(s)
		if err != nil {
			return rec.Fail(fl.In.Text, value.NewString(s), "%s", err)
		}
		data := structuredData(rec, m.Data)
		spreadSyslog(rec.spread(fl, prefix), &m, data)
		return nil
	})
}

// spreadSyslog adds the parts of the message, sorted by name.
func spreadSyslog(out spread, m *syslog.Message, data value.Value) {
	text := func(key, s string) {
		if s != "" {
			out.add(key, value.NewString(s))
		}
	}
	text("appname", m.App)
	if m.Priority >= 0 {
		text("facility", syslog.Facility(m.Priority>>3))
	}
	text("hostname", m.Host)
	out.add("message", value.NewString(m.Text))
	text("msgid", m.MsgID)
	text("procid", m.Proc)
	if m.Priority >= 0 {
		text("severity", syslog.Severity(m.Priority&7))
	}
	if data.IsDefined() {
		out.add("structured_data", data)
	}
	if m.HasTime {
		out.add("timestamp", value.NewTimestamp(m.Time))
	}
	if m.Version >= 0 {
		out.add("version", value.NewInt(int64(m.Version)))
	}
	out.done()
}

// structuredData returns an object with all elements, or None if the message has no elements.
func structuredData(rec *Record, d syslog.Data) value.Value {
	if d.IsEmpty() {
		return value.None
	}
	n := 0
	for e := d.Elements(); e.Next(); {
		n++
	}
	elements := value.MakeFields(n) // a hostile message has very many
	for e := d.Elements(); e.Next(); {
		params := &value.Fields{}
		for e.Param() {
			text := e.Value
			if strings.IndexByte(text, '\\') >= 0 {
				rec.Scratch = unescapeMarks(rec.Scratch[:0], text)
				text = rec.TextOf(rec.Scratch)
			}
			params.Add(e.Name, value.NewString(text))
		}
		params.Sort()
		elements.Add(e.ID, params.Value())
	}
	elements.Sort()
	return elements.Value()
}
