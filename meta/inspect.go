package meta

import (
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
)

// Inspect prints the state in a file as text. The file must not be open in
// another process; it is not changed.
func Inspect(w io.Writer, stateDBPath string) error {
	cat, err := catalog.OpenReadOnly(stateDBPath)
	if err != nil {
		return err
	}
	err = cat.View(func(tx *catalog.Tx) error { return printState(w, tx) })
	if cerr := cat.Close(); err == nil {
		err = cerr
	}
	return err
}

// InspectCommand prints one command of the group's log as text, for raftlog.Inspect.
func InspectCommand(w io.Writer, data []byte) {
	cmd, err := decodeCommand(data)
	if err != nil {
		_, _ = fmt.Fprintf(w, "  %v\n", err)
		return
	}
	hideVerifiers(cmd)
	_, _ = fmt.Fprintf(w, "  %s %s\n", stamp(cmd.TimeUnixNano), prototext.MarshalOptions{}.Format(cmd))
}

// hideVerifiers removes the verifiers of passwords and the hashes of tokens from a command.
func hideVerifiers(cmd *metapb.Command) {
	const hidden = "…"
	for _, c := range cmd.GetChangeAccess().GetChanges() {
		if p := c.GetCreate().GetPrincipal(); p.GetVerifier() != "" {
			p.Verifier = hidden
		}
		if a := c.GetAlter(); a.GetVerifier() != "" {
			a.Verifier = proto.String(hidden)
		}
		if t := c.GetCreateToken().GetToken(); t != nil {
			t.Hash = []byte(hidden)
		}
		if a := c.GetAlterToken(); a.GetHash() != nil {
			a.Hash = []byte(hidden)
		}
	}
}

// Check reads a state's file completely and compares it with its digest. It returns the index of
// the last command in it and the shards that it lists. It does not change the file.
func Check(stateDBPath string) (applied uint64, shards []uint32, err error) {
	cat, err := catalog.OpenReadOnly(stateDBPath)
	if err != nil {
		return 0, nil, err
	}
	err = cat.View(func(tx *catalog.Tx) error {
		applied, _ = tx.Applied()
		list, err := tx.Shards.All()
		for _, s := range list {
			shards = append(shards, s.Id)
		}
		return err
	})
	return applied, shards, errors.Join(err, cat.Close())
}

// CheckCommand reports whether a command of the group's log can be read.
func CheckCommand(data []byte) error {
	_, err := decodeCommand(data)
	return err
}

func stamp(unixNano int64) string { return time.Unix(0, unixNano).UTC().Format(time.RFC3339Nano) }

// printer prints until the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}
