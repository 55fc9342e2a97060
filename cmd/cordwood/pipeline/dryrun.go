package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/cmd/cordwood/ingest"
)

const (
	// maxDryRunRecords is the maximum number of records that a server tries at once.
	maxDryRunRecords = 100
	// defaultRecords is the default number of records to try. A server describes the steps of this
	// many records by default.
	defaultRecords = 10
	// defaultWhole is the default number of records that do not fail and are shown in full.
	defaultWhole = 2
)

// dryRunOptions are the flags of the command.
type dryRunOptions struct {
	file, version string
	format        string
	records       int
	whole         int // the number of records that are shown in full although they do not fail
	db, table     string
	output        string
}

func newDryRunCommand() *cobra.Command {
	o := dryRunOptions{whole: maxDryRunRecords}
	cmd := &cobra.Command{
		Use:   "dryrun (NAME | --file F) [DATA-FILE]",
		Short: "Try a pipeline and show each record after every step",
		Long: `Run the first records of DATA-FILE, or of standard input, through a stored pipeline or through the
document in a file. Show each record after every step: fields added (+), changed (~) and removed
(-), or the step at which it failed, and why. Nothing is stored.

Ten records are tried. The first two, and every record that fails, are shown in full; the others are
counted. With -n NUMBER, up to 100, that number of records is tried and shown in full. With --table
the result is compared with an existing table. The exit status is 1 if a record failed.`,
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
	f.IntVarP(&o.records, "records", "n", defaultRecords,
		fmt.Sprintf("`NUMBER` of records to try, and to show in full, at most %d", maxDryRunRecords))
	f.StringVar(&o.db, "db", "",
		"`DATABASE` of the table; the default database of the user or token by default")
	f.StringVar(&o.table, "table", "", "`TABLE` to compare the result with")
	cli.ListOutput(cmd, &o.output)
	return cmd
}

func runDryRun(cmd *cobra.Command, args []string, o *dryRunOptions) error {
	format, err := o.check(cmd)
	if err != nil {
		return err
	}
	form, data, err := o.form(cmd, args)
	if err != nil {
		return err
	}
	first, err := firstRecords(cmd, data, format, o.records)
	if err != nil {
		return err
	}
	form["data"], form["data_type"] = first.data, first.contentType
	answer, warnings, err := o.try(cmd, form, first.taken)
	if err != nil {
		return cli.SeveralLines(err)
	}
	if err := printDryRun(cmd.OutOrStdout(), o, answer); err != nil {
		return err
	}
	if first.more != "" {
		how := "-n tries up to " + strconv.Itoa(maxDryRunRecords)
		if o.records == maxDryRunRecords {
			how = "the maximum of a dry run"
		}
		tried := "first"
		if o.records > 1 {
			tried += " " + strconv.Itoa(o.records)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "tried the %s of %s records; %s\n", tried, first.more, how)
	}
	for _, w := range warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", w)
	}
	var shown dryRunAnswer
	if err := json.Unmarshal(answer, &shown); err != nil {
		return fmt.Errorf("reading the server's answer: %w", err)
	}
	if shown.Cut {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning: the answer is too long, and the server left out some steps or rows; "+
			"try fewer records with -n")
	}
	if slices.ContainsFunc(shown.Records, func(r dryRunRecord) bool { return r.Outcome == "failed" }) {
		return cli.ExitWith(cli.ExitFailed)
	}
	return nil
}

// check checks the flags, reads the name of the table, and returns the format of the data.
func (o *dryRunOptions) check(cmd *cobra.Command) (ingest.InputFormat, error) {
	format, err := ingest.ParseInputFormat(o.format)
	if err != nil {
		return format, cli.WrongUsage(err)
	}
	if o.records < 1 || o.records > maxDryRunRecords {
		return format, cli.WrongUsage(fmt.Errorf("--records %d: it must be 1 to %d", o.records, maxDryRunRecords))
	}
	if o.table != "" {
		o.db, o.table, err = cli.TableName(cmd, o.db, o.table)
	}
	return format, err
}

// form returns the part of the request with the pipeline to try, and the name of the data file.
func (o *dryRunOptions) form(cmd *cobra.Command, args []string) (form map[string]string, data string, err error) {
	form = map[string]string{}
	if o.file != "" {
		source, err := readInput(cmd, o.file, 1<<20)
		if err != nil {
			return nil, "", err
		}
		form["pipeline"] = string(source)
	} else {
		if len(args) == 0 {
			return nil, "", cli.WrongUsage(errors.New("give the pipeline to try: NAME or --file FILE"))
		}
		form["pipeline_name"], args = args[0], args[1:]
		if o.version != "" && o.version != "latest" {
			form["pipeline_version"] = o.version
		}
	}
	switch len(args) {
	case 0:
		return form, "-", nil
	case 1:
		return form, args[0], nil
	}
	return nil, "", cli.WrongUsage(errors.New("with --file, give only the file of data"))
}

// try sends the request with the given number of records, and returns the answer and the server's
// warnings.
func (o *dryRunOptions) try(cmd *cobra.Command, form map[string]string, records int) (
	json.RawMessage, []string, error,
) {
	a, err := newAPI(cmd)
	if err != nil {
		return nil, nil, err
	}
	body, err := json.Marshal(form)
	if err != nil {
		return nil, nil, err
	}
	query := url.Values{"trace": {"true"}}
	if o.table != "" {
		query.Set("table", o.table)
		cli.SetParameter(query, "db", o.db)
	}
	if records > defaultRecords {
		query.Set("trace_records", numbersBelow(records))
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
	return answer, header.Values("X-Svc-Warnings"), err
}

// numbersBelow returns the numbers from 0 to n-1, joined by commas.
func numbersBelow(n int) string {
	numbers := make([]string, n)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i)
	}
	return strings.Join(numbers, ",")
}

// maxCounted is the number of bytes that are read to count the records that are not tried.
const maxCounted = 64 << 20

// dryRunData are the first records of a file.
type dryRunData struct {
	data, contentType string
	taken             int // number of these records
	// more is the number of all records of the file, if the file has further records: a number, or "more than" a
	// number.
	more string
}

// firstRecords reads the first records of a file.
func firstRecords(cmd *cobra.Command, file string, format ingest.InputFormat, n int) (*dryRunData, error) {
	in, err := openInput(cmd, file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
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
		return nil, fmt.Errorf("%s has no records", file)
	}
	d := &dryRunData{data: out.String(), contentType: ingest.ContentTypes[format], taken: taken}
	// A pipe may pause after its first records, and is not read further.
	if taken == n && !ingest.Flows(in) {
		d.more = countMore(s, taken)
	}
	return d, nil
}

// countMore returns the number of all records, if there are more than were read. If counting takes too long or fails,
// the text is "more than" a number.
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

// isFile reports whether a file exists.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
