package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"cordwood/cmd/cordwood/cli"
)

// The answer of a dry run with trace=true.
type (
	dryRunAnswer struct {
		Tables  []dryRunTable  `json:"tables"`
		Records []dryRunRecord `json:"records"`
		Cut     bool           `json:"cut"` // the server left out a part
	}
	dryRunTable struct {
		Name      string            `json:"table_name"`
		Schema    []dryRunColumn    `json:"schema"`
		Rows      []json.RawMessage `json:"rows"`
		Options   map[string]string `json:"options"`
		Exists    bool              `json:"exists"`
		Refused   string            `json:"refused"`
		New       []string          `json:"new_columns"`
		Different []struct {
			Option, Wanted, Table string
		} `json:"different_options"`
	}
	dryRunColumn struct {
		Name       string `json:"name"`
		DataType   string `json:"data_type"`
		ColumnType string `json:"column_type"`
		Fulltext   bool   `json:"fulltext"`
		Index      string `json:"index"`
	}
	dryRunRecord struct {
		Index   int             `json:"index"`
		Input   json.RawMessage `json:"input"`
		Outcome string          `json:"outcome"`
		Steps   []dryRunStep    `json:"steps"`
		Rows    []struct {
			Table   string          `json:"table"`
			Row     *int            `json:"row"`
			Record  json.RawMessage `json:"record"`
			Dropped []string        `json:"dropped"`
		} `json:"rows"`
		Error *struct {
			Pipeline, Step, Field, Value, Reason string
		} `json:"error"`
	}
	dryRunStep struct {
		Pipeline string          `json:"pipeline"`
		Step     string          `json:"step"`
		Record   json.RawMessage `json:"record"`
		Added    []string        `json:"added"`
		Changed  []string        `json:"changed"`
		Removed  []string        `json:"removed"`
	}
)

// printDryRun prints the answer of a dry run.
func printDryRun(w io.Writer, o *dryRunOptions, answer json.RawMessage) error {
	if o.output != "table" {
		var list any
		d := json.NewDecoder(bytes.NewReader(answer))
		d.UseNumber()
		if err := d.Decode(&list); err != nil {
			return fmt.Errorf("reading the server's answer: %w", err)
		}
		if o.output == "yaml" {
			node, err := cli.YamlNode(jsonDecoder(answer))
			if err != nil {
				return fmt.Errorf("reading the server's answer: %w", err)
			}
			list = node
		}
		return cli.PrintList(w, o.output, list, nil)
	}
	var a dryRunAnswer
	if err := json.Unmarshal(answer, &a); err != nil {
		return fmt.Errorf("reading the server's answer: %w", err)
	}
	var out strings.Builder
	printRecords(&out, &a, o.whole)
	for _, t := range a.Tables {
		t.print(&out)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// printRecords prints the records that failed and the first of the other records. It counts the rest by outcome.
func printRecords(out *strings.Builder, a *dryRunAnswer, whole int) {
	rest := map[string]int{}
	for _, r := range a.Records {
		if r.Outcome != "failed" {
			if whole == 0 {
				rest[r.Outcome]++
				continue
			}
			whole--
		}
		r.print(out, a.Tables)
	}
	var counts []string
	for _, outcome := range slices.Sorted(maps.Keys(rest)) {
		counts = append(counts, cli.Count(rest[outcome], "record")+" "+outcome)
	}
	if len(counts) > 0 {
		fmt.Fprintf(out, "not shown: %s; -n %d shows them\n\n", strings.Join(counts, ", "), len(a.Records))
	}
}

func jsonDecoder(text []byte) *json.Decoder {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d
}

// maxValueShown is the maximum size of a printed value, in bytes.
const maxValueShown = 200

func shortValue(text []byte) string {
	if len(text) > maxValueShown {
		return strings.ToValidUTF8(string(text[:maxValueShown]), "") + "…"
	}
	return string(text)
}

// storedRow shows a row as the table stores it: by column, with the types of the columns, and
// without columns that have no value.
func storedRow(tables []dryRunTable, table string, row int) (string, bool) {
	i := slices.IndexFunc(tables, func(t dryRunTable) bool { return t.Name == table })
	if i < 0 || row >= len(tables[i].Rows) {
		return "", false
	}
	var cells []struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
		Type  string          `json:"data_type"`
	}
	if json.Unmarshal(tables[i].Rows[row], &cells) != nil {
		return "", false
	}
	var b strings.Builder
	for _, c := range cells {
		text := string(c.Value)
		if text == "null" || text == "" {
			continue
		}
		if unit, ok := timeUnits[c.Type]; ok {
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				at := time.Unix(n/unit, n%unit*(int64(time.Second)/unit)).UTC()
				text = strconv.Quote(at.Format("2006-01-02T15:04:05.999999999Z07:00"))
			}
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(c.Key)
		if err != nil {
			return "", false
		}
		b.Write(key)
		b.WriteString(":" + text)
	}
	return "{" + b.String() + "}", true
}

// timeUnits are the units per second of the time types.
var timeUnits = map[string]int64{
	"TIMESTAMP_SECOND": 1, "TIMESTAMP_MILLISECOND": 1e3, "TIMESTAMP_MICROSECOND": 1e6, "TIMESTAMP_NANOSECOND": 1e9,
}

func (r *dryRunRecord) print(out *strings.Builder, all []dryRunTable) {
	fmt.Fprintf(out, "record %d: %s", r.Index, r.Outcome)
	switch {
	case r.Error != nil:
		fmt.Fprintf(out, " at %s", r.Error.Step)
	case len(r.Rows) > 0:
		var tables []string
		for _, row := range r.Rows {
			if !slices.Contains(tables, row.Table) {
				tables = append(tables, row.Table)
			}
		}
		fmt.Fprintf(out, " in %s", strings.Join(tables, ", "))
	}
	out.WriteByte('\n')
	if len(r.Input) > 0 {
		fmt.Fprintf(out, "  %s\n", shortValue(r.Input))
	}
	for _, step := range r.Steps {
		step.print(out)
	}
	for _, row := range r.Rows {
		shown := string(row.Record)
		if row.Row != nil {
			if text, ok := storedRow(all, row.Table, *row.Row); ok {
				shown = text
			}
		}
		fmt.Fprintf(out, "  row of %s: %s\n", row.Table, shortValue([]byte(shown)))
		if len(row.Dropped) > 0 {
			fmt.Fprintf(out, "  dropped, because the transform does not list them: %s\n", strings.Join(row.Dropped, ", "))
		}
	}
	if e := r.Error; e != nil {
		fmt.Fprintf(out, "  ! %s: %s", e.Step, e.Reason)
		if e.Field != "" {
			fmt.Fprintf(out, "; field %s", e.Field)
		}
		if e.Value != "" {
			fmt.Fprintf(out, "; value %s", e.Value)
		}
		out.WriteByte('\n')
	}
	out.WriteByte('\n')
}

func (s *dryRunStep) print(out *strings.Builder) {
	fmt.Fprintf(out, "  %s", s.Step)
	if s.Pipeline != "" {
		fmt.Fprintf(out, " (%s)", s.Pipeline)
	}
	out.WriteByte('\n')
	if string(s.Record) == "null" {
		what := "the result is null"
		if strings.HasSuffix(s.Step, "] vrl") {
			what = "the program's result is null"
		} else if strings.HasSuffix(s.Step, "] filter") {
			what = "the filter matches"
		}
		fmt.Fprintf(out, "    %s, so the record is dropped\n", what)
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(s.Record, &fields) != nil {
		fmt.Fprintf(out, "    = %s\n", shortValue(s.Record)) // an array of records, or nothing
		return
	}
	if len(s.Added)+len(s.Changed)+len(s.Removed) == 0 {
		out.WriteString("    no change\n")
	}
	for _, list := range []struct {
		sign  string
		names []string
	}{{"+", s.Added}, {"~", s.Changed}, {"-", s.Removed}} {
		for _, name := range list.names {
			fmt.Fprintf(out, "    %s %s", list.sign, name)
			if value, ok := fields[name]; ok {
				fmt.Fprintf(out, " = %s", shortValue(value))
			}
			out.WriteByte('\n')
		}
	}
}

func (t *dryRunTable) print(out *strings.Builder) {
	fmt.Fprintf(out, "table %s: %s", t.Name, cli.Count(len(t.Rows), "row"))
	switch {
	case t.Exists:
		out.WriteString(", exists")
	case t.Refused != "":
		out.WriteString(", would be refused")
	default:
		out.WriteString(", would be created")
	}
	var options []string
	for k, v := range t.Options {
		options = append(options, k+"="+v)
	}
	if slices.Sort(options); len(options) > 0 {
		fmt.Fprintf(out, " (%s)", strings.Join(options, ", "))
	}
	out.WriteByte('\n')
	table := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, c := range t.Schema {
		notes := c.Index
		if c.Fulltext { // an older server, without Index
			notes = "fulltext"
		}
		if slices.Contains(t.New, c.Name) {
			notes = strings.TrimPrefix(notes+", new", ", ")
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", c.Name, c.DataType, c.ColumnType, notes)
	}
	_ = table.Flush() // writes to a Builder never fail
	for _, d := range t.Different {
		fmt.Fprintf(out, "  option %s: %s was requested, but the table has %q\n", d.Option, d.Wanted, d.Table)
	}
	out.WriteByte('\n')
}
