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

// Inspect prints a state as text. The values of metadata are not printed.
func Inspect(w io.Writer, file []byte) error {
	h, body, err := Decode("the state", file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "state of %s of cluster %s, incarnation %d, at index %d of term %d, stored %s, %d bytes\n",
		h.group(), h.Cluster, h.Incarnation, h.Index, h.Term, h.Written.UTC().Format(time.RFC3339Nano), h.Bytes)
	if err != nil {
		return err
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
