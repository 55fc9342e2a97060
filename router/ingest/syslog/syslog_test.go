package syslog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/schema"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/ingesttest"
	"cordwood/router/ingest/sockreceiver/socktest"
)

// server returns a server on a store in memory.
func server(t testing.TB, change ...func(*Config)) (*Server, *socktest.Fixture) {
	t.Helper()
	f := socktest.New(t)
	cfg := Config{Config: f.Config}
	for _, c := range change {
		c(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

// forms are messages as programs send them, with the rows that they become.
var forms = []struct {
	name, text string
	want       ingesttest.Row
}{
	{
		"rsyslog, RSYSLOG_SyslogProtocol23Format",
		"<86>1 2024-07-04T08:30:59.123456+02:00 web-1 sshd 812 - - pam_unix(sshd:session): session opened for user root",
		ingesttest.Row{
			"svc_timestamp": at("2024-07-04T06:30:59.123456Z"), "hostname": "web-1", "appname": "sshd", "procid": "812",
			"facility": "authpriv",
			"severity": "info", "priority": int64(86), "message": "pam_unix(sshd:session): session opened for user root",
		},
	},
	{
		"rsyslog, RSYSLOG_TraditionalForwardFormat", "<13>Jul  4 08:30:58 web-1 app[7]: hello  world",
		ingesttest.Row{
			"svc_timestamp": at("2024-07-04T08:30:58Z"), "hostname": "web-1", "appname": "app", "procid": "7",
			"facility": "user",
			"severity": "notice", "priority": int64(13), "message": "hello  world",
		},
	},
	{
		"rsyslog, RSYSLOG_ForwardFormat", "<30>2024-07-04T08:30:58.000001+00:00 web-1 systemd[1]: Started x.",
		ingesttest.Row{
			"svc_timestamp": at("2024-07-04T08:30:58.000001Z"), "hostname": "web-1", "appname": "systemd", "procid": "1",
			"facility": "daemon",
			"severity": "info", "priority": int64(30), "message": "Started x.",
		},
	},
	{
		"syslog-ng, syslog()", "<38>1 2024-07-04T08:30:58+00:00 web-1 su 9 ID47 [timeQuality tzKnown=\"1\" " +
			"isSynced=\"0\"][meta sequenceId=\"1\"] \ufeff'su root' failed",
		ingesttest.Row{
			"svc_timestamp": at("2024-07-04T08:30:58Z"), "hostname": "web-1", "appname": "su", "procid": "9", "msgid": "ID47",
			"facility": "auth",
			"severity": "info", "priority": int64(38), "message": "'su root' failed",
			"structured_data": `{"timeQuality":{"tzKnown":"1","isSynced":"0"},"meta":{"sequenceId":"1"}}`,
		},
	},
	{
		"logger --rfc5424", `<13>1 2024-07-04T08:30:58.518217+00:00 box ann - - [timeQuality tzKnown="1" isSynced="0"] hello`,
		ingesttest.Row{
			"svc_timestamp": at("2024-07-04T08:30:58.518217Z"), "hostname": "box", "appname": "ann", "facility": "user",
			"severity": "notice",
			"priority": int64(13), "message": "hello", "structured_data": `{"timeQuality":{"tzKnown":"1","isSynced":"0"}}`,
		},
	},
	{
		"Docker, syslog-format=rfc5424micro",
		"<30>1 2024-07-04T08:30:58.123456Z box shop/web/0f3a 4711 shop/web/0f3a - GET / 200",
		ingesttest.Row{
			"svc_timestamp": at("2024-07-04T08:30:58.123456Z"), "hostname": "box", "appname": "shop/web/0f3a", "procid": "4711",
			"msgid": "shop/web/0f3a", "facility": "daemon", "severity": "info", "priority": int64(30), "message": "GET / 200",
		},
	},
	{
		"Docker without a format", "<30>Jul  4 08:30:58 0f3a9c[4711]: GET / 200",
		ingesttest.Row{
			"svc_timestamp": at("2024-07-04T08:30:58Z"), "hostname": "127.0.0.1", "appname": "0f3a9c", "procid": "4711",
			"facility": "daemon",
			"severity": "info", "priority": int64(30), "message": "GET / 200",
		},
	},
	{
		"Python's SysLogHandler", "<11>something broke",
		ingesttest.Row{
			"svc_timestamp": ingesttest.Now, "hostname": "127.0.0.1", "facility": "user", "severity": "err",
			"priority": int64(11),
			"message":  "something broke",
		},
	},
	{
		"a repeated parameter", `<13>1 - h a - - [origin ip="10.0.0.1" ip="10.0.0.2"][origin x="q\"\\\]"][e] m`,
		ingesttest.Row{
			"svc_timestamp": ingesttest.Now, "hostname": "h", "appname": "a", "facility": "user", "severity": "notice",
			"priority": int64(13),
			"message":  "m", "structured_data": `{"e":{},"origin":{"ip":["10.0.0.1","10.0.0.2"],"x":"q\"\\]"}}`,
		},
	},
	{
		"a header that is broken", "<34>1 yesterday h a - - - x",
		ingesttest.Row{
			"svc_timestamp": ingesttest.Now, "hostname": "127.0.0.1", "facility": "auth", "severity": "crit",
			"priority": int64(34),
			"message":  "1 yesterday h a - - - x",
		},
	},
	{
		"a time that nanoseconds cannot tell", "<13>1 9999-01-01T00:00:00Z h a - - - x",
		ingesttest.Row{
			"svc_timestamp": ingesttest.Now, "hostname": "h", "appname": "a", "facility": "user", "severity": "notice",
			"priority": int64(13),
			"message":  "x",
		},
	},
	{
		"no syslog at all", `{"level":"info"}`,
		ingesttest.Row{"svc_timestamp": ingesttest.Now, "hostname": "127.0.0.1", "message": `{"level":"info"}`},
	},
	{
		"a priority too high", "<999>x", ingesttest.Row{
			"svc_timestamp": ingesttest.Now,
			"hostname":      "127.0.0.1",
			"message":       "<999>x",
		},
	},
	{
		"srslog for Go, its default", "<13> 2024-07-04T08:30:58Z web-1 app[7]: hello",
		ingesttest.Row{
			"svc_timestamp": at("2024-07-04T08:30:58Z"), "hostname": "web-1", "appname": "app", "procid": "7",
			"facility": "user", "severity": "notice", "priority": int64(13), "message": "hello",
		},
	},
	{
		"no UTF-8", "<13>caf\xe9",
		ingesttest.Row{
			"svc_timestamp": ingesttest.Now, "hostname": "127.0.0.1", "facility": "user", "severity": "notice",
			"priority": int64(13),
			"message":  "caf\ufffd",
		},
	},
}

// wanted returns the rows of forms.
func wanted() []ingesttest.Row {
	var rows []ingesttest.Row
	for i := range forms {
		row := ingesttest.Row{"source": "127.0.0.1"}
		for k, v := range forms[i].want {
			row[k] = v
		}
		rows = append(rows, row)
	}
	return rows
}

// The messages of all formats, with each framing.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		name  string
		frame func(text string) string
	}{
		{"lines", func(text string) string { return text + "\n" }},
		{"lines of Windows", func(text string) string { return text + "\r\n" }},
		{"NUL", func(text string) string { return text + "\x00" }},
		{"lines with NUL", func(text string) string { return text + "\x00\n" }},
		{"octet counting", func(text string) string { return fmt.Sprintf("%d %s", len(text), text) }},
		{"octet counting and line ends", func(text string) string { return fmt.Sprintf("%d %s\n", len(text), text) }},
		{"octet counting of line ends", func(text string) string { return fmt.Sprintf("%d %s\n", len(text)+1, text) }},
		{"each as it likes", func(text string) string {
			if len(text)%2 == 0 && text[0] == '<' {
				return fmt.Sprintf("%d %s", len(text), text)
			}
			return text + "\n"
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, f := server(t)
			address := socktest.TCP(t, s)
			var all strings.Builder
			var want []ingesttest.Row
			for i, row := range wanted() {
				if !strings.HasPrefix(forms[i].text, "<") && strings.HasPrefix(c.name, "octet") {
					continue // a message that does not begin with < has no length prefix
				}
				all.WriteString(c.frame(forms[i].text))
				want = append(want, row)
			}
			socktest.Send(t, address, all.String())
			if diff := socktest.Diff(want, f.Rows(t, "public.syslog", len(want))); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

// The same messages as datagrams.
func TestDatagrams(t *testing.T) {
	s, f := server(t)
	c := socktest.Dial(t, "udp", socktest.UDP(t, s))
	for i := range forms {
		socktest.Write(t, c, forms[i].text)
	}
	want := wanted()
	if diff := socktest.Diff(want, f.Rows(t, "public.syslog", len(want))); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestColumns(t *testing.T) {
	s, f := server(t)
	socktest.Send(t, socktest.TCP(t, s), forms[0].text+"\n")
	f.Rows(t, "public.syslog", 1)
	tags, full := "", ""
	for _, c := range f.Store.Columns("public.syslog") {
		if c.Semantic == schema.Tag {
			tags += c.Name + " "
		}
		if c.Index != nil && c.Index.Kind == schema.FulltextIndex {
			full += c.Name
		}
	}
	if tags != "hostname appname " || full != "message" {
		t.Errorf("tags %q, full-text index %q", tags, full)
	}
}

// A pipeline receives the fields and the original message.
func TestPipeline(t *testing.T) {
	s, f := server(t, func(c *Config) {
		c.Target = httpreceiver.Target{Database: "shop", Table: "boxes", Pipeline: "p"}
	})
	f.Store.Put("p", "version: 2\nprocessors:\n  - vrl:\n      source: |\n        .got = encode_json(.)\n        . "+
		"= {\"got\": .got}\n")
	socktest.Send(t, socktest.TCP(t, s), forms[3].text+"\n")
	row := f.Rows(t, "shop.boxes", 1)[0]
	const want = `{"appname":"su","facility":"auth","hostname":"web-1","message":"'su root' ` +
		`failed","msgid":"ID47","priority":38,"procid":"9",` +
		`"raw":"<38>1 2024-07-04T08:30:58+00:00 web-1 su 9 ID47 [timeQuality tzKnown=\"1\" isSynced=\"0\"][meta ` +
		`sequenceId=\"1\"] ` + "\ufeff" + `'su root' failed",` +
		`"severity":"info","source":"127.0.0.1","structured_data":{"meta":{"sequenceId":"1"},"timeQuality":{"isSynced":"0",` +
		`"tzKnown":"1"}},"svc_timestamp":"2024-07-04T08:30:58Z"}`
	if diff := cmp.Diff(ingesttest.Row{"svc_timestamp": at("2024-07-04T08:30:58Z"), "got": want}, row); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

func TestZone(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	s, f := server(t, func(c *Config) { c.Zone = zone })
	socktest.Send(t, socktest.TCP(t, s), forms[1].text+"\n")
	if got := f.Rows(t, "public.syslog", 1)[0]["svc_timestamp"]; got != at("2024-07-04T06:30:58Z") {
		t.Errorf("time %v", got)
	}
}

// The rest of a long message is cut off and counted, and the next one is complete.
func TestLong(t *testing.T) {
	long := strings.Repeat("long ", MaxBytes/5+100)
	for _, c := range []struct{ name, text string }{
		{"line", "<13>" + long + "\n<13>next\n"},
		{"length", fmt.Sprintf("%d <13>%s9 <13>next.", len(long)+4, long)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, f := server(t)
			socktest.Send(t, socktest.TCP(t, s), c.text)
			got := socktest.Texts(f.Rows(t, "public.syslog", 2), "message")
			if got[0] != long[:MaxBytes-4] || !strings.HasPrefix(got[1], "next") {
				t.Errorf("a message of %d bytes, then %q", len(got[0]), got[1])
			}
			if n := f.Metric(t, "cordwood_syslog_cut_total"); n != 1 {
				t.Errorf("%v cut", n)
			}
		})
	}
}

// The incomplete message of a client that disconnects is stored.
func TestBrokenOff(t *testing.T) {
	s, f := server(t)
	address := socktest.TCP(t, s)
	for _, text := range []string{"<13>half", "100 <13>half", "12", "12 "} {
		socktest.Send(t, address, text)
	}
	got := socktest.Texts(f.Rows(t, "public.syslog", 4), "message")
	if diff := cmp.Diff([]string{"12", "12 ", "half", "half"}, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}
