package roles

import (
	"strings"
	"testing"

	"cordwood/proto/schema"
)

func table(columns ...string) *schema.Table {
	t := &schema.Table{Name: "t"}
	for i, c := range columns {
		name, typ, _ := strings.Cut(c, " ")
		col := schema.Column{ID: uint32(i + 1), Name: name, Type: schema.String, Semantic: schema.Field}
		for _, known := range schema.Types() {
			if known.String() == typ {
				col.Type = known
			}
		}
		if col.Type.IsTimestamp() {
			col.Semantic = schema.Timestamp
		}
		t.Columns = append(t.Columns, col)
	}
	return t.Index()
}

func TestOf(t *testing.T) {
	for _, c := range []struct {
		columns string
		want    string // role=column
	}{
		{
			"ts TimestampSecond,msg,Message,level,host,pod,trace.id,error,stack",
			"time=ts level=level message=Message source=pod trace=trace.id error=error error=stack",
		},
		{
			"ts TimestampSecond,body Json,line,severity_text,severity_number Int32",
			"time=ts level=severity_text level=severity_number message=line",
		},
		{"ts TimestampSecond,level Float64,priority Int8", "time=ts level=priority"},
		{"ts TimestampSecond,a,status Int32", "time=ts level=status"},
		{"ts TimestampSecond,error,status", "time=ts error=error"},
		{
			"ts TimestampSecond,message_level,message_msg,message_host,message_error,status Int32",
			"time=ts level=message_level message=message_msg source=message_host error=message_error",
		},
		{
			"ts TimestampSecond,line_msg,line_host,message,host,log_status Int32",
			"time=ts level=log_status message=message source=host",
		},
	} {
		tab := table(strings.Split(c.columns, ",")...)
		of := Of(tab, Chosen{})
		var got []string
		for _, role := range []Role{Time, Level, Message, Source, Trace, Error} {
			for i := range tab.Columns {
				if of.RoleOf(&tab.Columns[i]) == role {
					got = append(got, string(role)+"="+tab.Columns[i].Name)
				}
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: the roles are\n%s, want\n%s", c.columns, s, c.want)
		}
	}
}

// TestChosenMessage checks that the owner of a table can choose the column of messages. A column that is not text is
// ignored.
func TestChosenMessage(t *testing.T) {
	tab := table("ts TimestampSecond", "msg", "note", "n Int64")
	for chosen, want := range map[string]string{"": "msg", "note": "note", "n": "msg", "gone": "msg"} {
		if c := Of(tab, Chosen{Message: chosen}); c.Message.Name != want {
			t.Errorf("%q: the message is %s, want %s", chosen, c.Message.Name, want)
		}
	}
}

// TestChosenLevel checks that a user can choose the column of levels. A column that is neither text nor an integer is
// ignored.
func TestChosenLevel(t *testing.T) {
	tab := table("ts TimestampSecond", "level", "grade", "n Int64", "took Float64", "status Int32")
	for chosen, want := range map[string]string{
		"": "level text", "grade": "grade text", "n": "n syslog", "status": "status status", "took": "level text",
		"gone": "level text",
	} {
		l := Of(tab, Chosen{Level: chosen}).Level
		if got := l.Column.Name + " " + string(l.Scheme); got != want {
			t.Errorf("%q: the level is %s, want %s", chosen, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for word, want := range map[string]string{
		"ERR": "error", "Warning": "warn", "notice": "info", "panic": "fatal", "verbose": "trace", "other": "other",
		"loud": "",
	} {
		if level, ok := Parse(word); level != want || ok != (want != "") {
			t.Errorf("%s is %q, %v, want %q", word, level, ok, want)
		}
	}
}

// TestCondition tests the SQL for the levels, and for all other values, in each scheme.
func TestCondition(t *testing.T) {
	ident := func(name string) string { return name }
	for _, c := range []struct{ columns, levels, want string }{
		{"level Int64", "error", "level BETWEEN 50 AND 59"},
		{"severity_number Int32", "warn info", "(severity_number BETWEEN 13 AND 16 OR severity_number BETWEEN 9 AND 12)"},
		{"priority Int8", "fatal", "priority BETWEEN 0 AND 2"},
		{"priority Int8", "trace", "FALSE"},
		{"status Int64", "other", "(NOT status BETWEEN 500 AND 599 AND NOT status BETWEEN 400 AND 499)"},
		{"lvl", "debug", "lower(lvl) IN ('debug')"},
	} {
		of := Of(table("ts TimestampSecond", c.columns), Chosen{})
		if got := of.Level.Condition(strings.Fields(c.levels), ident); got != c.want {
			t.Errorf("%s %s is\n%s, want\n%s", c.columns, c.levels, got, c.want)
		}
	}
}
