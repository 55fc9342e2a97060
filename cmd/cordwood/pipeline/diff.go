package pipeline

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
)

func newDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff NAME [V1 [V2]]",
		Short: "Show the lines in which two versions of a pipeline differ",
		Long: `Show the lines in which two versions of a pipeline differ: the newest two, or V1 and the newest, or
V1 and V2. V1 and V2 may be "latest", or the name of a file with a pipeline.`,
		Example: `  cordwood pipeline diff nginx
  cordwood pipeline diff nginx '2024-07-04 08:31:00.987136' latest
  cordwood pipeline diff nginx latest nginx.yaml`,
		Args: cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := newAPI(cmd)
			if err != nil {
				return err
			}
			compared, err := a.compared(cmd.Context(), args[0], args[1:])
			if err != nil {
				return err
			}
			var texts, labels [2]string
			for i, version := range compared {
				if info, err := os.Stat(version); err == nil && info.Mode().IsRegular() {
					text, err := readInput(cmd, version, 1<<20)
					if err != nil {
						return err
					}
					texts[i], labels[i] = string(text), version
					continue
				}
				p, err := a.get(cmd.Context(), args[0], version)
				if err != nil {
					return err
				}
				texts[i], labels[i] = p.Pipeline, p.Name+", version "+p.Version
			}
			_, err = io.WriteString(cmd.OutOrStdout(), unifiedDiff(labels[0], labels[1], lines(texts[0]), lines(texts[1])))
			return err
		},
	}
}

// compared returns the two versions that 'pipeline diff' compares; given has up to two of them.
func (a *api) compared(ctx context.Context, name string, given []string) ([]string, error) {
	switch len(given) {
	case 2:
		return given, nil
	case 1:
		return append(given, "latest"), nil
	}
	versions, err := a.versions(ctx, name)
	if err != nil {
		return nil, err
	}
	if n := len(versions); n >= 2 {
		return versions[n-2:], nil
	}
	return nil, fmt.Errorf("pipeline %s has only one version, so there is nothing to compare it with; "+
		"'cordwood pipeline diff %s latest FILE' compares it with a file", name, cli.ShellWord(name))
}

// lines splits a text at line ends; a last line without one is a line too.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// edit is a line of a comparison: of both texts, or of one.
type edit struct {
	op   byte // ' ', '-' or '+'
	line string
}

const (
	// diffContext is the number of equal lines that are shown around a difference.
	diffContext = 3
	// maxDiffCells limits the memory of a comparison. Beyond it, the differing part of the texts is
	// shown as removed and added as a whole.
	maxDiffCells = 4 << 20
)

// unifiedDiff returns the difference of two texts in the format of diff -u; "" if there is none.
func unifiedDiff(labelA, labelB string, a, b []string) string {
	edits := compareLines(a, b)
	var out strings.Builder
	lineA, lineB := 1, 1
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' {
			i, lineA, lineB = i+1, lineA+1, lineB+1
			continue
		}
		from := max(0, i-diffContext)
		to := hunkEnd(edits, i)
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", labelA, labelB)
		}
		startA, startB := lineA-(i-from), lineB-(i-from)
		countA, countB := 0, 0
		for _, e := range edits[from:to] {
			if e.op != '+' {
				countA++
			}
			if e.op != '-' {
				countB++
			}
		}
		fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n", startA, countA, startB, countB)
		for _, e := range edits[from:to] {
			out.WriteByte(e.op)
			out.WriteString(e.line)
			out.WriteByte('\n')
		}
		lineA, lineB = startA+countA, startB+countB
		i = to
	}
	return out.String()
}

// hunkEnd returns the end of the differences that begin at i, including the lines after them: two
// differences that are close to each other are shown together.
func hunkEnd(edits []edit, i int) int {
	last := i
	for j := i; j < len(edits) && j-last <= 2*diffContext; j++ {
		if edits[j].op != ' ' {
			last = j
		}
	}
	return min(len(edits), last+1+diffContext)
}

// compareLines finds the longest common subsequence of lines.
func compareLines(a, b []string) []edit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out []edit
	add := func(op byte, lines []string) {
		for _, line := range lines {
			out = append(out, edit{op, line})
		}
	}
	add(' ', a[:head])
	midA, midB := a[head:len(a)-tail], b[head:len(b)-tail]
	if (len(midA)+1)*(len(midB)+1) > maxDiffCells {
		add('-', midA)
		add('+', midB)
	} else {
		out = append(out, longestCommon(midA, midB)...)
	}
	add(' ', a[len(a)-tail:])
	return out
}

func longestCommon(a, b []string) []edit {
	width := len(b) + 1
	length := make([]int32, (len(a)+1)*width) // the longest common subsequence of a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i*width+j] = length[(i+1)*width+j+1] + 1
			} else {
				length[i*width+j] = max(length[(i+1)*width+j], length[i*width+j+1])
			}
		}
	}
	var out []edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[(i+1)*width+j] >= length[i*width+j+1]:
			out = append(out, edit{'-', a[i]})
			i++
		default:
			out = append(out, edit{'+', b[j]})
			j++
		}
	}
	return out
}
