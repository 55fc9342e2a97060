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
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl"
	"cordwood/router/vrl/value"
)

// reference runs programs with the reference implementation, in a separate process.
type reference struct {
	in  io.WriteCloser
	out *bufio.Scanner
}

// programs is the number of random programs of TestReference.
var programs = flag.Int("programs", 1000, "random `programs` that TestReference compares")

// startReference starts the reference implementation with the Python of VRL_REFERENCE_PYTHON, which must have the
// package vector-vrl (`make vrl-reference`). Without the variable the test is skipped.
func startReference(t *testing.T) *reference {
	t.Helper()
	python := os.Getenv("VRL_REFERENCE_PYTHON")
	if python == "" {
		t.Skip("VRL_REFERENCE_PYTHON names no Python with the package vector-vrl: run make vrl-reference, then make test")
	}
	cmd := exec.Command(python, "testdata/reference.py")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	return &reference{in, lines}
}

// run returns the outcome of a program that makes an object with the text out.
func (r *reference) run(t *testing.T, source, event string) string {
	t.Helper()
	line, err := json.Marshal(map[string]any{"source": source, "event": json.RawMessage(event)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	if !r.out.Scan() {
		t.Fatalf("the reference ended (%v) at\n%s\nof %s", r.out.Err(), source, event)
	}
	var answer struct {
		Value        map[string]string
		Compile, Run string
	}
	if err := json.Unmarshal(r.out.Bytes(), &answer); err != nil {
		t.Fatalf("%v: %s", err, r.out.Bytes())
	}
	switch {
	case answer.Compile != "":
		_, text, _ := strings.Cut(answer.Compile, ": ")
		return refused + text
	case answer.Run != "":
		_, text, _ := strings.Cut(answer.Run, ": ")
		return "fails: " + leveled(text)
	}
	return leveled(answer.Value["out"])
}

// refused begins the outcome of a program that does not compile.
const refused = "does not compile: "

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
		if here, there := verdict(got), verdict(want); here != "" || there != "" {
			if here == "" || there == "" {
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
	// The compilers infer kinds in different detail, so some programs compile in one of them only.
	for v, n := range verdicts {
		t.Logf("%d programs: %s", n, v)
	}
}
