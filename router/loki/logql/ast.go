package logql

import (
	"regexp"
	"time"
)

// Expr is a query: *Log, or a metric.
type Expr interface {
	// String writes the query.
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

// LineFilter keeps lines. Op is |=, !=, |~, !~, |> or !>. One of the texts has to be found; for operators with !,
// none of them.
type LineFilter struct {
	Op    string
	Texts []string
	// Res are the texts of |~ and !~, or the patterns of |> and !>, as regular expressions.
	Res []*regexp.Regexp
}

// Extract is a name with the path or key that it gets its value from.
type Extract struct{ Name, From string }

// JSON parses the line as JSON. An empty list selects everything.
type JSON struct{ List []Extract }

// Logfmt parses the line as logfmt. An empty list selects everything.
type Logfmt struct {
	Strict, KeepEmpty bool
	List              []Extract
}

// Regexp parses the line with the named groups of an expression.
type Regexp struct{ Re *regexp.Regexp }

// Pattern parses the line with a pattern such as <ip> - <user>.
type Pattern struct {
	Text  string
	Parts []PatternPart
}

// PatternPart is a literal, or a capture with a name; the name _ captures without keeping.
type PatternPart struct{ Literal, Name string }

// Unpack parses the line as a JSON object of one level, whose member _entry is the line.
type Unpack struct{}

// LabelFilter keeps lines by their labels.
type LabelFilter struct{ Cond Cond }

// Cond is a condition on labels: *And, *Or, *Text or *Compare.
type Cond interface {
	write(p *printer)
}

// And is two conditions that must both hold.
type And struct{ A, B Cond }

// Or is two conditions of which one must hold.
type Or struct{ A, B Cond }

// Text is a condition on the text of a label.
type Text struct{ Matcher }

// Kind is how the text of a label becomes a number.
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
	// Literal is Value as it was written.
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

// NameMatch is a label. If Match is not nil, it concerns the label only if its value matches.
type NameMatch struct {
	Name  string
	Match *Matcher
}

// Decolorize removes the escape sequences of colours.
type Decolorize struct{}

// Unwrap takes the sample of an entry from a label.
type Unwrap struct {
	Name string
	// Convert is duration, duration_seconds or bytes; empty: the label is a number.
	Convert string
	// Filters are the conditions after the conversion.
	Filters []*LabelFilter
}

// Grouping is the labels of an aggregation.
type Grouping struct {
	Without bool
	Names   []string
}

// Range is an aggregation over a range of time, such as rate.
type Range struct {
	Op string
	// Param is the parameter of quantile_over_time.
	Param    float64
	Log      *Log
	Unwrap   *Unwrap
	Range    time.Duration
	Offset   time.Duration
	Grouping *Grouping
}

// Vector is an aggregation over the series of a moment, such as sum.
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

// Matching says which series of both sides belong together.
type Matching struct {
	// On says that Names are the labels to compare. Otherwise, they are the labels to ignore.
	On    bool
	Names []string
	// Group is group_left, group_right or empty, and Include has its labels.
	Group   string
	Include []string
}

// Number is a scalar.
type Number struct{ Value float64 }

// Constant is vector(number): one series without labels.
type Constant struct{ Value float64 }

// LabelReplace sets a label of series from another one.
type LabelReplace struct {
	Of                    Metric
	Dst, Replacement, Src string
	Re                    *regexp.Regexp
	// Expression is Re as it was written.
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
