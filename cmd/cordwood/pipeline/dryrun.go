package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/cmd/cordwood/ingest"
)

const (
	// maxDryRunRecords is the most records that a server tries at once.
	maxDryRunRecords = 10
	// defaultWhole is how many records are shown whole of those that do not fail, if -n does not say more.
	defaultWhole = 2
)

// dryRunOptions are the flags of the command.
type dryRunOptions struct {
	file, version string
	format        string
	records       int
	whole         int // how many of the records that do not fail are shown whole
	db, table     string
	output        string
}

func newDryRunCommand() *cobra.Command {
	o := dryRunOptions{whole: maxDryRunRecords}
	cmd := &cobra.Command{
		Use:   "dryrun (NAME | --file F) [DATA-FILE]",
		Short: "Try a pipeline and show each record after every step",
		Long: `Run the first records of DATA-FILE, or of standard input, through a stored pipeline or
through the document in a file, and show each record after every step: fields added (+),
changed (~) and removed (-), or the step at which it failed, and why. Nothing is stored.

The first two records are shown whole, and every record that fails; the others are counted,
unless -n says how many to try and show. With --table the result is compared with the table
that exists. The exit status is 1 if a record failed.`,
		Example: `  cordwood pipeline dryrun nginx access.log
  cordwood pipeline dryrun --file nginx.yaml --table access access.log
  echo '{"t":"2024-01-01T00:00:00","k":1}' | cordwood pipeline dryrun --file p.yaml`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("records") {
				o.whole = defaultWhole
			}
			return runDryRun(cmd, args, &o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "", "`FILE` with a pipeline, instead of a stored one")
	f.StringVar(&o.version, "version", "", "`VERSION` of the stored pipeline; the newest by default")
	f.StringVar(&o.format, "format", "auto", "`FORMAT` of the data: auto, json, ndjson or text")
	f.IntVarP(&o.records, "records", "n", maxDryRunRecords,
		"`NUMBER` of records to try, and to show whole, 10 at most")
	f.StringVar(&o.db, "db", "public", "`DATABASE` of the table")
	f.StringVar(&o.table, "table", "", "`TABLE` to hold the result against")
	cli.ListOutput(cmd, &o.output)
	return cmd
}

func runDryRun(cmd *cobra.Command, args []string, o *dryRunOptions) error {
	format, err := ingest.ParseInputFormat(o.format)
	if err != nil {
		return cli.WrongUsage(err)
	}
	if o.records < 1 || o.records > maxDryRunRecords {
		return cli.WrongUsage(fmt.Errorf("--records %d: it must be 1 to %d", o.records, maxDryRunRecords))
	}
	if o.table != "" {
		if o.db, o.table, err = cli.TableName(cmd, o.db, o.table); err != nil {
			return err
		}
	}
	form := map[string]string{}
	if o.file != "" {
		source, err := readInput(cmd, o.file, 1<<20)
		if err != nil {
			return err
		}
		form["pipeline"] = string(source)
	} else {
		if len(args) == 0 {
			return cli.WrongUsage(errors.New("say which pipeline to try: NAME or --file FILE"))
		}
		form["pipeline_name"], args = args[0], args[1:]
		if o.version != "" && o.version != "latest" {
			form["pipeline_version"] = o.version
		}
	}
	if len(args) > 1 {
		return cli.WrongUsage(errors.New("with --file only the file of data follows"))
	}
	data := "-"
	if len(args) == 1 {
		data = args[0]
	}
	first, err := firstRecords(cmd, data, format, o.records)
	if err != nil {
		return err
	}
	form["data"], form["data_type"] = first.data, first.contentType
	a, err := newAPI(cmd)
	if err != nil {
		return err
	}
	body, err := json.Marshal(form)
	if err != nil {
		return err
	}
	query := url.Values{"trace": {"true"}}
	if o.table != "" {
		query.Set("table", o.table)
		query.Set("db", o.db)
	}
	var answer json.RawMessage
	header, err := a.call(cmd.Context(), client.Request{
		Method: http.MethodPost, Path: "/v1/pipelines/_dryrun", Query: query,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, Reads: true,
	}, &answer)
	if err != nil && o.file == "" && strings.Contains(err.Error(), "Pipeline not found") && isFile(form["pipeline_name"]) {
		err = fmt.Errorf("%w: %s is a file: for a pipeline in a file write --file %s", err, form["pipeline_name"],
			form["pipeline_name"])
	}
	if err != nil {
		return cli.SeveralLines(err)
	}
	if err := printDryRun(cmd.OutOrStdout(), o, answer); err != nil {
		return err
	}
	if first.more != "" {
		how := "-n tries up to " + strconv.Itoa(maxDryRunRecords)
		if o.records == maxDryRunRecords {
			how = "a dry run takes no more"
		}
		tried := "first"
		if o.records > 1 {
			tried += " " + strconv.Itoa(o.records)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "tried the %s of %s records; %s\n", tried, first.more, how)
	}
	for _, w := range header.Values("X-Svc-Warnings") {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", w)
	}
	var shown dryRunAnswer
	if err := json.Unmarshal(answer, &shown); err != nil {
		return fmt.Errorf("reading the server's answer: %w", err)
	}
	if slices.ContainsFunc(shown.Records, func(r dryRunRecord) bool { return r.Outcome == "failed" }) {
		return cli.ExitWith(cli.ExitFailed)
	}
	return nil
}

// maxCounted bounds how much of a file is read to count the records that are not tried.
const maxCounted = 64 << 20

// dryRunData are the first records of a file.
type dryRunData struct {
	data, contentType string
	// more is how many records the file has, if these are not all: a number, or "more than" one.
	more string
}

// firstRecords reads the first records of a file.
func firstRecords(cmd *cobra.Command, file string, format ingest.InputFormat, n int) (*dryRunData, error) {
	in := cmd.InOrStdin()
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	r, done, _, err := ingest.Decompress(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	defer done()
	if err := ingest.SkipByteOrderMark(r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if format == ingest.FormatAuto {
		if format, err = ingest.GuessFormat(r); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	var out bytes.Buffer
	s := ingest.NewSplitter(r, format)
	taken := 0
	for taken < n {
		c, err := s.Next(nil, 1)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(bytes.TrimSpace(c.Data)) == 0 {
			continue
		}
		taken++
		out.Write(bytes.TrimRight(c.Data, "\r\n"))
		out.WriteByte('\n')
	}
	if out.Len() == 0 {
		return nil, fmt.Errorf("%s holds no records", file)
	}
	d := &dryRunData{data: out.String(), contentType: ingest.ContentTypes[format]}
	// A pipe may stand still behind what it has brought, and is not read further.
	if taken == n && !ingest.Flows(in) {
		d.more = countMore(s, taken)
	}
	return d, nil
}

// countMore returns how many records there are, with those that were taken, if there are more than
// these: a number, or "more than" one if it takes too long or they cannot be read.
func countMore(s ingest.Splitter, taken int) string {
	all, read := taken, 0
	var buf []byte
	for read < maxCounted {
		c, err := s.Next(buf, 1)
		switch {
		case errors.Is(err, io.EOF) && all == taken:
			return ""
		case errors.Is(err, io.EOF):
			return strconv.Itoa(all)
		case err != nil:
			return "more than " + strconv.Itoa(all)
		}
		buf = c.Data
		read += len(c.Data)
		if len(bytes.TrimSpace(c.Data)) > 0 {
			all++
		}
	}
	return "more than " + strconv.Itoa(all)
}

// The answer of a dry run with trace=true.
type (
	dryRunAnswer struct {
		Tables  []dryRunTable  `json:"tables"`
		Records []dryRunRecord `json:"records"`
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

// printRecords prints the records that failed, and the first of the others; the rest are counted by outcome.
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

// maxValueShown bounds a value that is printed, in bytes.
const maxValueShown = 200

func shortValue(text []byte) string {
	if len(text) > maxValueShown {
		return strings.ToValidUTF8(string(text[:maxValueShown]), "") + "…"
	}
	return string(text)
}

// storedRow shows a row as a table has it: by column, with the types of the columns, and without
// columns that have no value.
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

// timeUnits are the units in a second of the types of times.
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
			fmt.Fprintf(out, "  dropped, as the transform does not list them: %s\n", strings.Join(row.Dropped, ", "))
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
		if c.Fulltext { // a server before Index
			notes = "fulltext"
		}
		if slices.Contains(t.New, c.Name) {
			notes = strings.TrimPrefix(notes+", new", ", ")
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", c.Name, c.DataType, c.ColumnType, notes)
	}
	_ = table.Flush() // a Builder takes everything
	for _, d := range t.Different {
		fmt.Fprintf(out, "  option %s: %s is wanted, the table has %q\n", d.Option, d.Wanted, d.Table)
	}
	out.WriteByte('\n')
}

// isFile reports whether there is a file of that name.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
