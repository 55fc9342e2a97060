package params

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/nearest"
)

// ignored collects the parts of a header that have no effect, for warnings.
type ignored struct {
	texts []string
	more  int
}

const (
	// maxIgnored is the maximum number of parts that warnings list.
	maxIgnored = 8
	// maxQuoted is the maximum number of bytes of a part that are quoted.
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

// addPart records a part that is not key=value, unless it is empty.
func (w *ignored) addPart(part string) {
	if strings.TrimSpace(part) != "" {
		w.add(quoted(part) + " is not a name=value")
	}
}

// addName records a name that has no effect, and the most similar known name.
func (w *ignored) addName(name string, known []string) {
	text := quoted(name) + " is not known"
	if known == nil {
		text = quoted(name) + " has no effect"
	} else {
		text += nearest.DidYouMean("; ", name, known)
	}
	w.add(text)
}

// addRepeated records a name that already has a value. used is "first" or "last", the value that counts.
func (w *ignored) addRepeated(name, used string) {
	w.add(quoted(name) + " is given more than once; the " + used + " value was used")
}

// warnings returns the notes as warnings.
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

// headers returns the notes about whole headers as warnings.
func (w *ignored) headers() []string {
	slices.Sort(w.texts)
	out := w.texts
	if w.more > 0 {
		out = append(out, fmt.Sprintf("%d more headers that begin with x-svc- are not known, and have no effect", w.more))
	}
	return out
}

// quoted shortens and quotes a client's text for a message.
func quoted(text string) string {
	if len(text) > maxQuoted {
		text = strings.ToValidUTF8(text[:maxQuoted], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}
