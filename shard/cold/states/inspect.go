package states

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"cordwood/proto/words"
	"cordwood/shard/manifest"
)

// Is reports whether a file begins as a state does.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }

// Inspect prints a state, or a piece of a log, as text. The values of metadata are not printed.
func Inspect(w io.Writer, file []byte) error {
	if f, err := decodeFrame("the state", file); err == nil && f.kind == kindLog {
		return inspectLog(w, file)
	}
	h, body, err := Decode("the state", file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "state of %s of cluster %s, incarnation %d, at index %d of term %d, stored %s, %d bytes\n",
		h.group(), h.Cluster, h.Incarnation, h.Index, h.Term, h.Written.UTC().Format(time.RFC3339Nano), h.Bytes)
	if err != nil {
		return err
	}
	if h.LogFrom != 0 {
		if _, err := fmt.Fprintf(w, "  rows in no object are in the log from entry %d on\n", h.LogFrom); err != nil {
			return err
		}
	}
	if h.Shard != 0 {
		st, err := manifest.DecodeState("the state", body)
		if err != nil {
			return err
		}
		return st.Print(w)
	}
	m, err := DecodeMetadata(body)
	if err != nil {
		return err
	}
	sealed := "none: the cluster has no secret"
	if n := len(m.Access); n > 0 {
		sealed = words.FormatBytes(int64(n)) + ", encrypted"
	}
	_, err = fmt.Fprintf(w, "  tables, pipelines and settings: %s\n  users, roles and tokens: %s\n",
		words.FormatBytes(int64(len(m.Plain))), sealed)
	return err
}

func inspectLog(w io.Writer, file []byte) error {
	h, entries, err := DecodeLog("the piece", file)
	if err != nil {
		return err
	}
	commands := 0
	for e := range entries.All() {
		if e.Command {
			commands++
		}
	}
	_, err = fmt.Fprintf(w, "log of shard %d of cluster %s, incarnation %d: entries %d to %d of term %d, %d of them "+
		"commands, stored %s, %d bytes\n", h.Shard, h.Cluster, h.Incarnation, h.First, h.Last, h.Term, commands,
		h.Written.UTC().Format(time.RFC3339Nano), h.Bytes)
	return err
}
