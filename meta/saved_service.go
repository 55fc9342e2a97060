package meta

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/grpc"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/savedrules"
)

// This file prepares commands about values that users save.

// maxSavedName is the maximum length of a name in characters.
const maxSavedName = 128

// CheckSavedName refuses unknown kinds and invalid names.
func CheckSavedName(kind, name string) error {
	control := func(c rune) bool { return c == '/' || unicode.IsControl(c) }
	switch {
	case !slices.Contains(savedrules.Kinds(), kind):
		return errs.New(errs.InvalidArguments, "%.40q is not a kind of saved value; use one of %s", kind,
			strings.Join(savedrules.Kinds(), ", "))
	case name == "":
		return errs.New(errs.InvalidArguments, "the name of the saved %s is empty", kind)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, control) || name != strings.TrimSpace(name):
		return errs.New(errs.InvalidArguments, "the name of a saved %s cannot have /, control characters, or spaces at "+
			"its ends: %.200q", kind, name)
	case utf8.RuneCountInString(name) > maxSavedName:
		return errs.New(errs.InvalidArguments, "the name of a saved %s has more than %d characters", kind, maxSavedName)
	}
	return nil
}

func checkSavedOwner(owner string) error {
	if strings.ContainsRune(owner, 0) {
		return errs.New(errs.InvalidArguments, "the name of a user has a NUL character")
	}
	return checkText("owner of a saved value", owner, false)
}

func checkSaved(s *metapb.Saved, value []byte) error {
	if s == nil {
		return errs.New(errs.InvalidArguments, "Save: no value is given")
	}
	if err := CheckSavedName(s.Kind, s.Name); err != nil {
		return err
	}
	if err := checkSavedOwner(s.Owner); err != nil {
		return err
	}
	switch {
	case len(value) > savedrules.MaxBytes:
		return errs.New(errs.InvalidArguments, "Save %s %s: the value has %d bytes, at most %d are allowed", s.Kind, s.Name,
			len(value), savedrules.MaxBytes)
	case !utf8.Valid(value) || !json.Valid(value):
		return errs.New(errs.InvalidArguments, "Save %s %s: the value is not JSON", s.Kind, s.Name)
	}
	s.Size = uint32(len(value))
	return nil
}

func prepareDropSaved(d *metapb.DropSaved) error {
	if err := CheckSavedName(d.Kind, d.Name); err != nil {
		return err
	}
	return checkSavedOwner(d.Owner)
}

// prepareRestoreSaved also refuses a version so high that the counter could overflow.
func prepareRestoreSaved(r *metapb.RestoreSaved) error {
	if err := checkSaved(r.Saved, r.Value); err != nil {
		return err
	}
	if v := r.Saved.Version; v == 0 || v > 1<<62 {
		return errs.New(errs.InvalidArguments, "Restore %s %s: %d is not a version", r.Saved.Kind, r.Saved.Name, v)
	}
	return nil
}

// ReadSaved sends saved values. Only the leader answers, so that users see the values that they
// stored.
func (m *Meta) ReadSaved(
	req *metapb.ReadSavedRequest, stream grpc.ServerStreamingServer[metapb.ReadSavedResponse],
) error {
	if _, err := m.ReadIndex(stream.Context(), &metapb.ReadIndexRequest{}); err != nil {
		return err
	}
	return errs.ToGRPC(m.readSaved(stream.Context(), req, stream.Send))
}

// savedPiece is the number of values that one transaction reads. A slow receiver therefore holds no transaction open.
const savedPiece = 16

func (m *Meta) readSaved(
	ctx context.Context, req *metapb.ReadSavedRequest, send func(*metapb.ReadSavedResponse) error,
) error {
	var last []byte
	for {
		var piece []*metapb.ReadSavedResponse
		more := false
		err := m.catalog.View(func(tx *catalog.Tx) (err error) {
			var list []*metapb.Saved
			if req.GetName() != "" {
				var s *metapb.Saved
				if s, err = tx.Saved.Visible(req.GetKind(), req.GetName(), req.GetOwner()); s != nil {
					list = []*metapb.Saved{s}
				}
			} else if list, err = tx.Saved.From(req.GetKind(), last, savedPiece); len(list) > 0 {
				last, more = tx.Saved.Key(list[len(list)-1]), true
			}
			for _, s := range list {
				if req.Owner == nil || s.Shared || s.Owner == req.GetOwner() {
					piece = append(piece, &metapb.ReadSavedResponse{Saved: s, Value: tx.Saved.Value(s)})
				}
			}
			return err
		})
		if err != nil {
			return errs.Wrap(errs.Internal, err, "read saved values")
		}
		for _, s := range piece {
			if err := send(s); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
