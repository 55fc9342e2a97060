// Package roles determines the purpose of the columns of a table of logs: which column has the level, and which
// ones have the message, error texts, the trace and the source. It uses the column names, because logs of all
// programs use the same few names. It also maps the values of a column to levels.
//
// It does not read data and has no state. Its functions are pure and may be called concurrently.
package roles

import (
	"strings"

	"cordwood/proto/schema"
)

// Role is the purpose of a column.
type Role string

// The roles. Most columns have none.
const (
	None    Role = ""
	Time    Role = "time"
	Level   Role = "level"
	Message Role = "message"
	Error   Role = "error"
	Trace   Role = "trace"
	Source  Role = "source"
)

// The names of columns for each role. The first name that a table has is used, and then the first capture with one of
// these names. Case is ignored.
var (
	levelNames = []string{
		"level", "severity", "severity_text", "log.level", "log_level", "detected_level", "lvl", "levelname", "loglevel",
		"severity_number", "priority",
	}
	messageNames = []string{"message", "msg", "line", "body", "log", "text", "event.original", "event", "raw"}
	errorNames   = []string{
		"error", "error.message", "exception.message", "error.stack", "exception.stacktrace", "stack",
	}
	traceNames  = []string{"trace_id", "traceid", "trace.id"}
	sourceNames = []string{"kubernetes.pod", "pod", "hostname", "host", "container", "file", "service"}
	statusNames = []string{"status", "http.status_code"}
)

// Columns has the columns of a table by role. If no column has a role, it is nil.
type Columns struct {
	Time    *schema.Column
	Level   *Levels
	Message *schema.Column
	// Errors has all columns with error texts.
	Errors []*schema.Column
	Trace  *schema.Column
	Source *schema.Column
}

// Chosen has the names of columns that a user chose for a role. If a name is empty, or if the table has no such column
// with a fitting type, the first column with one of the usual names is used.
type Chosen struct {
	// Message is a column of texts, and Level a column of texts or integers.
	Message string `json:"message_column"`
	Level   string `json:"level_column"`
}

// Of returns the roles of the columns of t.
func Of(t *schema.Table, chosen Chosen) Columns {
	byName := map[string]*schema.Column{}
	for i := range t.Columns {
		name := strings.ToLower(t.Columns[i].Name)
		if _, taken := byName[name]; !taken {
			byName[name] = &t.Columns[i]
		}
	}
	c := Columns{
		Time: t.TimeIndex(), Level: levelsOf(byName, t.Column(chosen.Level)), Trace: first(byName, traceNames, isText),
		Source: first(byName, sourceNames, isText),
	}
	if message := t.Column(chosen.Message); message != nil && isText(message) {
		c.Message = message
	} else {
		c.Message = first(byName, messageNames, isText)
	}
	for _, name := range errorNames {
		for _, col := range []*schema.Column{byName[name], capture(byName, name)} {
			if col != nil && isText(col) && col != c.Message {
				c.Errors = append(c.Errors, col)
			}
		}
	}
	return c
}

// RoleOf returns the role of a column of the table.
func (c *Columns) RoleOf(col *schema.Column) Role {
	switch {
	case same(col, c.Time):
		return Time
	case c.Level != nil && (same(col, c.Level.Column) || same(col, c.Level.Number)):
		return Level
	case same(col, c.Message):
		return Message
	case same(col, c.Trace):
		return Trace
	case same(col, c.Source):
		return Source
	}
	for _, e := range c.Errors {
		if same(col, e) {
			return Error
		}
	}
	return None
}

func same(a, b *schema.Column) bool { return b != nil && a.Name == b.Name }

func isText(c *schema.Column) bool { return c.Type == schema.String }

// first returns the first column that has one of the names and fits. Without one, it returns the first capture with one
// of the names.
func first(byName map[string]*schema.Column, names []string, fits func(*schema.Column) bool) *schema.Column {
	for _, name := range names {
		if c := byName[name]; c != nil && fits(c) {
			return c
		}
	}
	for _, name := range names {
		if c := capture(byName, name); c != nil && fits(c) {
			return c
		}
	}
	return nil
}

// capture returns the column with the group of this name in a message: the processor regex makes message_level of the
// group level in the field message.
func capture(byName map[string]*schema.Column, name string) *schema.Column {
	for _, message := range messageNames {
		if c := byName[message+"_"+name]; c != nil {
			return c
		}
	}
	return nil
}
