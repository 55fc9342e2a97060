package vrl_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/stdlib"
	"cordwood/router/vrl/value"
)

// reference runs programs with the reference implementation, in a separate process.
type reference struct {
	python string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
}

// programs is the number of random programs of a test.
var programs = flag.Int("programs", 1000, "random `programs` that are compared with the reference implementation")

// startReference starts the reference implementation with the Python of VRL_REFERENCE_PYTHON, which must have the
// package vector-vrl (`make vrl-reference`). Without the variable the test is skipped.
func startReference(t *testing.T) *reference {
	t.Helper()
	r := &reference{python: os.Getenv("VRL_REFERENCE_PYTHON")}
	if r.python == "" {
		t.Skip("VRL_REFERENCE_PYTHON names no Python with the package vector-vrl: run make vrl-reference, then make test")
	}
	r.start(t)
	t.Cleanup(func() { r.stop() })
	if got := r.run(t, `. = {"out": "works"}`, "{}"); got != "works" {
		t.Fatalf("the reference implementation does not run: %s", got)
	}
	return r
}

func (r *reference) start(t *testing.T) {
	t.Helper()
	r.cmd = exec.Command(r.python, "testdata/reference.py")
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewScanner(out)
	r.out.Buffer(nil, 16<<20)
}

// stop stops the process, which may have ended by itself.
func (r *reference) stop() {
	_ = r.in.Close()
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

// answerTime limits the time for a program. Some make the reference run forever, or overflow its stack.
const answerTime = 30 * time.Second

// run returns the outcome of a program that makes an object with the text out.
func (r *reference) run(t *testing.T, source, event string) string {
	t.Helper()
	line, err := json.Marshal(map[string]any{"source": source, "event": json.RawMessage(event)})
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(answerTime, func() { _ = r.cmd.Process.Kill() })
	defer late.Stop()
	_, err = r.in.Write(append(line, '\n'))
	if err != nil || !r.out.Scan() {
		r.stop()
		r.start(t)
		return panicked
	}
	var answer struct {
		Value               map[string]string
		Compile, Run, Panic string
	}
	if err := json.Unmarshal(r.out.Bytes(), &answer); err != nil {
		t.Fatalf("%v: %s", err, r.out.Bytes())
	}
	switch {
	case answer.Panic != "":
		return panicked
	case answer.Compile != "":
		_, text, _ := strings.Cut(answer.Compile, ": ")
		return refused + text
	case answer.Run != "":
		_, text, _ := strings.Cut(answer.Run, ": ")
		return "fails: " + leveled(text)
	}
	return leveled(answer.Value["out"])
}

const (
	// refused begins the outcome of a program that does not compile.
	refused = "does not compile: "
	// panicked is the outcome of a program that shows a fault of the reference.
	panicked = "panic"
)

// placeOfCall is the place of a call in an error, which has another form in the reference.
var placeOfCall = regexp.MustCompile(`at (line \d+, column \d+|\(\d+:\d+\))`)

// containerKind is the start of the kind of a container in an error.
var containerKind = regexp.MustCompile(`(got|coerce|type|parse|length of) [{\[]`)

// leveled replaces what differs on purpose: the places of calls, and the kinds of containers. The reference writes
// all kinds inside a container, which may be as many as a client likes.
func leveled(s string) string {
	s = placeOfCall.ReplaceAllString(s, "at …")
	for {
		at := containerKind.FindStringIndex(s)
		if at == nil {
			return s
		}
		from, depth, to := at[1]-1, 0, at[1]-1
		for ; to < len(s); to++ {
			if c := s[to]; c == '{' || c == '[' {
				depth++
			} else if c == '}' || c == ']' {
				if depth--; depth == 0 {
					break
				}
			}
		}
		name := "object"
		if s[from] == '[' {
			name = "array"
		}
		s = s[:from] + name + s[min(to+1, len(s)):]
	}
}

// ours returns the outcome of the same program in the same form.
func ours(source, event string) string {
	p, _, err := vrl.Compile(source, vrl.Options{})
	if d := (*vrl.Diagnostics)(nil); errors.As(err, &d) {
		return refused + d.List[0].Message
	}
	v, err := value.ParseJSON(event, value.JSONOptions{})
	if err != nil {
		return err.Error()
	}
	if _, err := p.Run(&v, nil); err != nil {
		return "fails: " + leveled(err.Error())
	}
	out, _ := v.Get(value.Path{value.Name("out")})
	return leveled(out.Str())
}

// verdict returns why a program does not compile; "" if it does.
func verdict(outcome string) string {
	why, ok := strings.CutPrefix(outcome, refused)
	if !ok {
		return ""
	}
	return why[:min(len(why), 60)]
}

// TestReference compares random programs on random events with the reference implementation: results, events, kinds
// and errors.
func TestReference(t *testing.T) {
	r := startReference(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 3))}
	verdicts := map[string]int{}
	ran, differ := 0, 0
	for range *programs {
		g.vars = g.vars[:0]
		// In the reference, a variable of a block keeps its value after the block, so all variables belong to the program.
		source := fmt.Sprintf("v = null\nw = null\nx = null\n"+
			"result = {\n%s\n}\n. = {\"out\": encode_json([result, ., %%])}",
			g.program())
		event := g.event(2)
		got, want := ours(source, event), r.run(t, source, event)
		if here, there := verdict(got), verdict(want); here != "" || there != "" || want == panicked {
			if want != panicked && (here == "" || there == "") {
				verdicts[fmt.Sprintf("here %q, there %q", here, there)]++
			}
			continue
		}
		if ran++; got == want {
			continue
		}
		if differ++; differ <= 20 {
			t.Errorf("%s\nof %s\n     %s\nwant %s", source, event, got, want)
		}
	}
	t.Logf("%d of %d programs that compile in both differ", differ, ran)
	if ran < *programs/5 {
		t.Errorf("only %d of %d programs were compared", ran, *programs)
	}
	// The compilers infer kinds in different detail, so some programs compile in one of them only.
	for v, n := range verdicts {
		t.Logf("%d programs: %s", n, v)
	}
}

// arguments are arguments for the parameters of functions, by kind.
var arguments = []struct {
	kind kind.Set
	args []string
}{
	{kind.StringBit, []string{
		`""`, `"a"`, `"foo bar"`, `"a,b;c"`, `"é日本"`, `"12"`, `"-1.5"`, `"true"`, `"2024-01-02T03:04:05Z"`,
		`"a=b c=\"d e\""`, `"%Y-%m-%d"`, `"https://u@ex.com:80/p/a?q=1#f"`, `"10.0.0.1"`, `"{\"a\":[1,2.0]}"`, `"YWJj"`,
		`"A-b_C d"`, `"Abc\nDef"`, `"%+"`, `" x "`, `","`, `" "`, `"fooBarBaz"`, `"[a b] \"c"`,
	}},
	{kind.IntegerBit, []string{"0", "1", "2", "3", "10"}},
	{kind.FloatBit, []string{"0.0", "1.5", "-2.5", "0.1", "1234.5678"}},
	{kind.BooleanBit, []string{"true", "false"}},
	{kind.TimestampBit, []string{"t'2020-01-01T00:00:00Z'", "t'1969-12-31T23:59:59.5Z'"}},
	{kind.NullBit, []string{"null"}},
	{kind.ArrayBit, []string{
		"[]", "[1, 2, 3]", `["a", "b", "a"]`, `[1, "x", null, [2, [3]], {"a": 1}]`, `["", "b", null]`,
	}},
	{kind.ObjectBit, []string{"{}", `{"a": 1, "b": {"c": [1, null, ""], "d": ""}}`, `{"k": "v", "x": 1.5, "z": null}`}},
	{kind.RegexBit, []string{`r'a'`, `r'(?P<x>\w)(?P<y>\d)?'`, `r'o+'`, `r','`}},
}

// argument returns an argument for a parameter, mostly of its kind.
func (g *generator) argument(p *fn.Param) string {
	switch {
	case p.Target:
		return g.pick(".", ".a", ".b.c", ".l[0]", ".l[1]")
	case len(p.Enum) > 0 && g.IntN(4) > 0:
		return strconv.Quote(p.Enum[g.IntN(len(p.Enum))].Value)
	}
	for {
		a := &arguments[g.IntN(len(arguments))]
		if p.Kind.Set()&a.kind != 0 || g.IntN(200) == 0 {
			return g.pick(a.args...)
		}
	}
}

// notCompared are functions whose results differ on purpose, or for which the reference does not end.
var notCompared = map[string]string{
	"encode_gzip": "another compressor", "encode_zlib": "another compressor", "encode_zstd": "another compressor",
	"format_number":    "the reference writes a separator before three digits",
	"now":              "differs each time",
	"parse_user_agent": "another list of devices",
	"shannon_entropy":  "the reference adds in a random order",
	"unflatten":        "the reference overflows its stack without a separator",
	"zip":              "the reference does not end without arrays",
}

// TestReferenceCalls calls the functions with random arguments here and in the reference implementation, and compares
// the results. Of two failures the texts are not compared (CONFORMANCE.md).
func TestReferenceCalls(t *testing.T) {
	r := startReference(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 4))}
	functions := slices.DeleteFunc(stdlib.All(), func(f *fn.Function) bool {
		_, not := notCompared[f.Name]
		return not || f.Closure != nil || f.Needs != 0 || f.Group == fn.Random || f.Group == fn.System || f.Group == fn.Debug
	})
	const event = `{"a":"x y","b":{"c":[1,2]},"l":["q",3,null]}`
	ran, differ := 0, 0
	for range *programs {
		f := functions[g.IntN(len(functions))]
		var args []string
		for i := range f.Params {
			if p := &f.Params[i]; !p.Optional || g.IntN(2) == 0 {
				args = append(args, p.Name+": "+g.argument(p))
			}
		}
		call := f.Name + "(" + strings.Join(args, ", ") + ")"
		source := `. = {"out": encode_json([` + call + `, .])}`
		got := ours(source, event)
		if strings.HasPrefix(got, refused) {
			// The call may fail.
			source = "result, err = " + call + "\n" +
				`. = {"out": encode_json([if err == null { result } else { "failed" }, .])}`
			got = ours(source, event)
		}
		want := r.run(t, source, event)
		switch {
		case verdict(got) != "" || verdict(want) != "" || want == panicked:
			continue
		case strings.HasPrefix(got, "fails: ") && strings.HasPrefix(want, "fails: "):
			continue
		}
		if ran++; got != want {
			if differ++; differ <= 20 {
				t.Errorf("%s\n     %s\nwant %s", source, got, want)
			}
		}
	}
	t.Logf("%d of %d calls that compile in both differ", differ, ran)
	if ran < *programs/5 {
		t.Errorf("only %d of %d calls were compared", ran, *programs)
	}
}
