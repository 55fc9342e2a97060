package params

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/nearest"
)

// ignored collects the parts of a header that have no effect, so that clients learn of them.
type ignored struct {
	texts []string
	more  int
}

const (
	// maxIgnored is how many parts of a header are named.
	maxIgnored = 8
	// maxQuoted bounds what is quoted of a part, in bytes.
	maxQuoted = 40
)

func (w *ignored) add(text string) {
	if len(w.texts) == maxIgnored {
		w.more++
		return
	}
	if !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}

// part notes a part that is not a key=value; empty ones are none.
func (w *ignored) part(part string) {
	if strings.TrimSpace(part) != "" {
		w.add(quoted(part) + " is not a name=value")
	}
}

// name notes a name that has no effect, with the nearest name that has one.
func (w *ignored) name(name string, known []string) {
	text := quoted(name) + " is not known"
	if known == nil {
		text = quoted(name) + " has no effect"
	} else {
		text += nearest.DidYouMean("; ", name, known)
	}
	w.add(text)
}

// repeated notes a name that has a value already; taken is which of the values counts.
func (w *ignored) repeated(name, taken string) {
	w.add(quoted(name) + " is given more than once; the " + taken + " value was taken")
}

// warnings returns what was noted, in words.
func (w *ignored) warnings(header string) []string {
	if len(w.texts) == 0 {
		return nil
	}
	slices.Sort(w.texts)
	var out []string
	for _, text := range w.texts {
		out = append(out, "header "+header+": "+text)
	}
	if w.more > 0 {
		out = append(out, fmt.Sprintf("header %s: %d more parts have no effect", header, w.more))
	}
	return out
}

// headers returns what was noted of whole headers, in words.
func (w *ignored) headers() []string {
	slices.Sort(w.texts)
	out := w.texts
	if w.more > 0 {
		out = append(out, fmt.Sprintf("%d more headers that begin with x-svc- are not known, and have no effect", w.more))
	}
	return out
}

// quoted returns a text of a client for a message.
func quoted(text string) string {
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}
