package logql

import (
	"regexp"
	"time"
)

// Expr is a query: *Log, or a metric.
type Expr interface {
	// String formats the query.
	String() string
}

// Metric is a query that yields numbers: *Range, *Vector, *Binary, *Number, *Constant, *LabelReplace or *Sort.
type Metric interface {
	Expr
	metric()
}

// Log is a query that yields lines: a selector and a pipeline.
type Log struct {
	Matchers []Matcher
	Stages   []Stage
	// Instructions is the size of the compiled regular expressions of a parsed query.
	Instructions int
}

// Matcher is a condition on a label.
type Matcher struct {
	Name string
	// Op is =, !=, =~ or !~.
	Op    string
	Value string
	// Re matches the whole value if Op is =~ or !~.
	Re *regexp.Regexp
}

// Matches reports whether a value of the label meets the condition. A missing label has the empty value.
func (m *Matcher) Matches(value string) bool {
	switch m.Op {
	case "=":
		return value == m.Value
	case "!=":
		return value != m.Value
	case "=~":
		return m.Re.MatchString(value)
	}
	return !m.Re.MatchString(value)
}

// Stage is a step of a pipeline.
type Stage interface {
	write(p *printer)
}

// LineFilter keeps lines. Op is |=, !=, |~, !~, |> or !>. A line must match one of the texts, or none of them if Op
// begins with !.
type LineFilter struct {
	Op    string
	Texts []string
	// Res has the texts of |~ and !~ as regular expressions, and Patterns those of |> and !>.
	Res      []*regexp.Regexp
	Patterns []*LinePattern
}

// Extract is a label name with the JSON path or logfmt key of its value.
type Extract struct{ Name, From string }

// JSON parses the line as JSON. An empty list extracts all fields.
type JSON struct{ List []Extract }

// Logfmt parses the line as logfmt. An empty list extracts all fields.
type Logfmt struct {
	Strict, KeepEmpty bool
	List              []Extract
}

// Regexp parses the line with the named groups of a regular expression.
type Regexp struct{ Re *regexp.Regexp }

// Pattern parses the line with a pattern such as <ip> - <user>.
type Pattern struct {
	Text  string
	Parts []PatternPart
}

// PatternPart is a literal or a named capture. The name _ discards the captured text.
type PatternPart struct{ Literal, Name string }

// Unpack parses the line as a JSON object of one level, whose member _entry is the line.
type Unpack struct{}

// LabelFilter keeps lines by their labels.
type LabelFilter struct{ Cond Cond }

// Cond is a condition on labels: *And, *Or, *Text or *Compare.
type Cond interface {
	write(p *printer)
}

// And requires both conditions.
type And struct{ A, B Cond }

// Or requires at least one of two conditions.
type Or struct{ A, B Cond }

// Text is a condition on the text of a label.
type Text struct{ Matcher }

// Kind is the unit in which the text of a label is read as a number.
type Kind int

// The kinds.
const (
	// PlainNumber is a number without a unit.
	PlainNumber Kind = iota
	// Duration is a duration such as 1h30m; the number is seconds.
	Duration
	// Bytes is a size such as 10KB; the number is bytes.
	Bytes
)

// Compare is a condition on the number of a label.
type Compare struct {
	Name string
	// Op is =, !=, >, >=, < or <=.
	Op    string
	Kind  Kind
	Value float64
	// Literal is Value as written in the query.
	Literal string
}

// LineFormat makes a new line from a template.
type LineFormat struct{ Template *Template }

// LabelFormat sets labels.
type LabelFormat struct{ Sets []LabelSet }

// LabelSet sets a label to a template or, if Template is nil, moves the label From.
type LabelSet struct {
	Name, From string
	Template   *Template
}

// Drop removes labels.
type Drop struct{ Names []NameMatch }

// Keep removes all other labels.
type Keep struct{ Names []NameMatch }

// NameMatch selects a label. If Match is not nil, it selects the label only if the value matches.
type NameMatch struct {
	Name  string
	Match *Matcher
}

// Decolorize removes the escape sequences of colours.
type Decolorize struct{}

// Unwrap uses a label of an entry as its sample.
type Unwrap struct {
	Name string
	// Convert is duration, duration_seconds or bytes, or empty if the label is a plain number.
	Convert string
	// Filters are the label filters after the conversion.
	Filters []*LabelFilter
}

// As returns the kind of number that the label has.
func (u *Unwrap) As() Kind {
	switch u.Convert {
	case "duration", "duration_seconds":
		return Duration
	case "bytes":
		return Bytes
	}
	return PlainNumber
}

// Grouping has the labels of an aggregation.
type Grouping struct {
	Without bool
	Names   []string
}

// Range is an aggregation over a time range, such as rate.
type Range struct {
	Op string
	// Param is the parameter of quantile_over_time.
	Param    float64
	Log      *Log
	Unwrap   *Unwrap
	Range    time.Duration
	Offset   time.Duration
	Grouping *Grouping
	// Named are labels that the query names around the range, such as those of avg by (host). The parser does not set
	// them.
	Named []string
}

// Vector is an aggregation over series at each step, such as sum.
type Vector struct {
	Op string
	// Param is the parameter of topk, bottomk and approx_topk.
	Param    int
	Grouping *Grouping
	Of       Metric
}

// Binary is an operator between two metrics.
type Binary struct {
	Op       string
	Bool     bool
	Matching *Matching
	L, R     Metric
}

// Matching defines which series of both sides are combined.
type Matching struct {
	// On is true if Names are the labels to compare, and false if they are the labels to ignore.
	On    bool
	Names []string
	// Group is group_left, group_right or empty. Include has the labels in its brackets.
	Group   string
	Include []string
}

// Number is a scalar.
type Number struct{ Value float64 }

// Constant is vector(number): one series without labels.
type Constant struct{ Value float64 }

// LabelReplace sets a label of each series from another label.
type LabelReplace struct {
	Of                    Metric
	Dst, Replacement, Src string
	Re                    *regexp.Regexp
	// Expression is Re as written in the query.
	Expression string
}

// Sort sorts the series of an instant query by their values.
type Sort struct {
	Desc bool
	Of   Metric
}

func (*Range) metric()        {}
func (*Vector) metric()       {}
func (*Binary) metric()       {}
func (*Number) metric()       {}
func (*Constant) metric()     {}
func (*LabelReplace) metric() {}
func (*Sort) metric()         {}
