package vrl

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"cordwood/router/vrl"
	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/value"
)

func newTestStreamCommand() *cobra.Command {
	var flags programFlags
	cmd := &cobra.Command{
		Use:   "test-stream",
		Short: "Answer programs and events on standard input, one JSON object per line",
		Long: `Read a JSON object {"id","source","event","timezone","metadata","read_only"} from each line, and answer
with a line {"id","ok","result","event","warnings"} or
{"id","ok":false,"stage":"compile"|"runtime","error","event"}. Tests of the language use it.`,
		Example: `  echo '{"id":1,"source":".a + 1 ?? 0","event":{"a":1}}' | cordwood vrl test-stream`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := flags.options(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			o.Logger = slog.New(slog.DiscardHandler)
			return testStream(cmd.InOrStdin(), cmd.OutOrStdout(), o)
		},
	}
	flags.register(cmd)
	return cmd
}

// testStream processes the lines of a stream.
func testStream(in io.Reader, out io.Writer, o vrl.Options) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 1<<16), maxEventLine)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		request, err := value.ParseJSON(lines.Text(), value.JSONOptions{})
		if err != nil || request.Object() == nil {
			return fmt.Errorf("line %d is not a JSON object: %w", n, err)
		}
		answer := answerTest(request.Object(), o)
		answer.Sort()
		if _, err := out.Write(append(value.AppendJSON(nil, answer.Value()), '\n')); err != nil {
			return err
		}
	}
	return lines.Err()
}

// answerTest runs one request of the test stream.
func answerTest(request *value.Fields, o vrl.Options) *value.Fields {
	get := func(key string) value.Value {
		v, _ := request.Get(key)
		return v
	}
	answer := value.MakeFields(6)
	answer.Add("id", get("id"))
	fail := func(stage string, err error) *value.Fields {
		answer.Add("ok", value.NewBool(false))
		answer.Add("stage", value.NewString(stage))
		answer.Add("error", value.NewString(err.Error()))
		return answer
	}
	if zone := get("timezone"); zone.IsString() {
		z, err := vrl.ParseZone(zone.Str())
		if err != nil {
			return fail("compile", err)
		}
		o.Zone = z
	}
	if list := get("read_only").Array(); list != nil {
		for _, x := range list.Share() {
			path, _ := x.Get(value.Path{value.Name("path")})
			recursive, _ := x.Get(value.Path{value.Name("recursive")})
			r, err := vrl.ParseReadOnly(path.Str(), recursive.Bool())
			if err != nil {
				return fail("compile", err)
			}
			o.ReadOnly = append(o.ReadOnly[:len(o.ReadOnly):len(o.ReadOnly)], r)
		}
	}
	source := get("source").Str()
	p, warnings, err := vrl.Compile(source, o)
	if err != nil {
		var d *vrl.Diagnostics
		if errors.As(err, &d) {
			err = errors.New(d.Render(""))
		}
		return fail("compile", err)
	}
	event, meta := get("event"), get("metadata")
	if meta.Object() == nil {
		meta = value.NewObject(value.MakeFields(0))
	}
	v, err := p.Run(&event, &meta)
	if err != nil {
		fail("runtime", err)
	} else {
		answer.Add("ok", value.NewBool(true))
		answer.Add("result", v.Share())
	}
	answer.Add("event", event)
	if len(warnings) > 0 {
		list := make([]value.Value, len(warnings))
		for i, w := range warnings {
			list[i] = value.NewString(diag.Render("", source, []*diag.Diagnostic{w}))
		}
		answer.Add("warnings", value.NewArray(list))
	}
	return answer
}
