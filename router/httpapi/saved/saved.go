// Package saved has the handlers of /v1/saved: values that users save for a web page, such as searches, statements,
// views of tables, and the states behind short links. The values are JSON that only the page reads. The metadata stores
// them, and checks names and sizes.
//
// Handlers may be used concurrently.
package saved

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorilla/mux"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/savedrules"
	"cordwood/router/access"
	"cordwood/router/access/token"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
)

// Store is the part of the metadata client for saved values.
type Store interface {
	Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error)
	// ReadSaved returns the saved values that match a request, as stored at the time of the call.
	ReadSaved(ctx context.Context, req *metapb.ReadSavedRequest) ([]*metapb.ReadSavedResponse, error)
}

// linkLength is the length of a link's name.
const linkLength = 12

// Handlers answer the paths under /v1/saved.
type Handlers struct {
	Store Store
	// Now is the clock.
	Now func() time.Time
}

// owner returns the user whose values a request concerns. If the server has no users, alone is true, and all values
// are shared.
func owner(x *exchange.Exchange) (name string, alone bool) {
	name = x.User()
	return name, name == ""
}

// mayManage reports whether the caller may change values that other users have shared.
func mayManage(x *exchange.Exchange) bool {
	return x.Caller.May(access.Need{Privilege: access.ManageAccess})
}

// mayStore returns an error for a token with a scope. Its values would remain after the token, and nobody could remove
// them.
func mayStore(x *exchange.Exchange) error {
	if token.Like(x.Caller.User) {
		return errs.New(errs.PermissionDenied, "%s may not save values: sign in as a user, or use a token FOR USER",
			x.Caller.User)
	}
	return nil
}

// pathNames returns the kind and the name in the path.
func pathNames(r *http.Request) (kind, name string, err error) {
	vars := mux.Vars(r)
	if kind, err = url.PathUnescape(vars["kind"]); err == nil {
		name, err = url.PathUnescape(vars["name"])
	}
	if err != nil || name == "" {
		return "", "", errs.New(errs.InvalidArguments, "the path has no name: write /v1/saved/KIND/NAME")
	}
	if !utf8.ValidString(kind) || !utf8.ValidString(name) {
		return "", "", errs.New(errs.InvalidArguments, "the path /v1/saved/%.20q/%.40q is not valid UTF-8", kind, name)
	}
	return kind, name, nil
}

// List lists the values that the caller may see, of one kind or of all kinds. It leaves out the links of other users:
// whoever has the name of a link may read it, but others are not told what its owner looked at.
func (h *Handlers) List(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	query, err := params.ParseOnce(r.URL.RawQuery, "kind")
	if err != nil {
		return nil, err
	}
	kind := query.Get("kind")
	if kind != "" && !slices.Contains(savedrules.Kinds(), kind) {
		return nil, errs.New(errs.InvalidArguments, "%.40q is not a kind of saved value; use one of %s", kind,
			strings.Join(savedrules.Kinds(), ", "))
	}
	user, alone := owner(x)
	list, err := h.Store.ReadSaved(r.Context(), &metapb.ReadSavedRequest{Kind: kind, Owner: proto.String(user)})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(one *metapb.ReadSavedResponse) bool {
		return !alone && one.Saved.Kind == savedrules.Link && one.Saved.Owner != user
	})
	slices.SortFunc(list, func(a, b *metapb.ReadSavedResponse) int {
		return cmp.Or(strings.Compare(a.Saved.Kind, b.Saved.Kind), strings.Compare(a.Saved.Name, b.Saved.Name),
			cmp.Compare(a.Saved.Version, b.Saved.Version))
	})
	out := []byte(`"saved":[`)
	for i, one := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendValue(append(out, '{'), one.Saved, one.Value), '}')
	}
	return append(out, ']'), nil
}

// appendValue appends the members of a saved value.
func appendValue(out []byte, s *metapb.Saved, value []byte) []byte {
	out = exchange.AppendJSONString(append(out, `"kind":`...), s.Kind)
	out = exchange.AppendJSONString(append(out, `,"name":`...), s.Name)
	out = fmt.Appendf(out, `,"version":%d,"owner":`, s.Version)
	out = exchange.AppendJSONString(out, s.Owner)
	out = fmt.Appendf(out, `,"shared":%t,"updated":"%s"`, s.Shared,
		time.Unix(0, s.UpdatedUnixNano).UTC().Format(time.RFC3339Nano))
	if value != nil {
		out = append(append(out, `,"value":`...), value...)
	}
	return out
}

// Get answers with one value: the caller's own value or, if there is none, the shared one.
func (h *Handlers) Get(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	kind, name, err := pathNames(r)
	if err != nil {
		return nil, err
	}
	user, _ := owner(x)
	list, err := h.Store.ReadSaved(r.Context(), &metapb.ReadSavedRequest{
		Kind: kind, Name: name, Owner: proto.String(user),
	})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errs.New(errs.InvalidArguments, "there is no saved %.40s of the name %.130q", kind, name).
			WithStatus(http.StatusNotFound)
	}
	one := list[0]
	used := time.Unix(0, one.Saved.UsedUnixNano)
	if kind == savedrules.Link && h.Now().Sub(used) > savedrules.UseInterval {
		// Unused links are deleted later, so the use is recorded. A failure does not matter, because the next use is
		// recorded too.
		_, _ = h.Store.Propose(r.Context(), &metapb.Command{Op: &metapb.Command_TouchSaved{
			TouchSaved: &metapb.TouchSaved{Kind: kind, Name: name},
		}})
	}
	x.Tag = tag(one.Saved)
	return appendValue(nil, one.Saved, one.Value), nil
}

// tag returns the ETag of a saved value.
func tag(s *metapb.Saved) string { return `"` + strconv.FormatUint(s.Version, 10) + `"` }

// condition returns the version that a request replaces. 0 means that the value must not exist yet.
func condition(r *http.Request) (uint64, error) {
	match, none := params.Header(r.Header, "If-Match"), params.Header(r.Header, "If-None-Match")
	if none == "*" && match == "" && r.Method != http.MethodDelete {
		return 0, nil
	}
	text, quoted := strings.CutSuffix(strings.TrimPrefix(match, `"`), `"`)
	version, err := strconv.ParseUint(text, 10, 63)
	if none != "" || !quoted || err != nil || version == 0 {
		return 0, errs.New(errs.InvalidArguments, "give the version to change: If-Match with the version in quotes, as the "+
			"header ETag has it, or If-None-Match: * for a new value")
	}
	return version, nil
}

// Put stores a value. It replaces the value that the caller sees.
func (h *Handlers) Put(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	kind, name, err := pathNames(r)
	if err != nil {
		return nil, err
	}
	query, err := params.ParseOnce(r.URL.RawQuery, "shared")
	if err != nil {
		return nil, err
	}
	shared, err := query.Bool("shared", false)
	if err != nil {
		return nil, err
	}
	if kind == savedrules.Link {
		return nil, errs.New(errs.InvalidArguments, "a link is named after its value: use POST /v1/saved/link")
	}
	version, err := condition(r)
	if err != nil {
		return nil, err
	}
	value, err := readValue(x, r)
	if err != nil {
		return nil, err
	}
	user, alone := owner(x)
	return h.store(x, r, &metapb.PutSaved{
		Saved: &metapb.Saved{Kind: kind, Name: name, Owner: user, Shared: shared || alone}, Value: value,
		IfVersion: version, Manage: mayManage(x),
	})
}

// store stores a value, and answers with the stored value.
func (h *Handlers) store(x *exchange.Exchange, r *http.Request, put *metapb.PutSaved) ([]byte, error) {
	if err := mayStore(x); err != nil {
		return nil, err
	}
	result, err := h.Store.Propose(r.Context(), &metapb.Command{
		TimeUnixNano: h.Now().UnixNano(), Op: &metapb.Command_PutSaved{PutSaved: put},
	})
	if err != nil {
		return nil, conditionError(err)
	}
	x.Tag = tag(result.GetSaved())
	return appendValue(nil, result.GetSaved(), put.Value), nil
}

// conditionError sets the status of the error if a condition is not met.
func conditionError(err error) error {
	if errs.CodeOf(err) == errs.IllegalState {
		return errs.From(err).WithStatus(http.StatusPreconditionFailed)
	}
	return err
}

// readValue reads a value, which is JSON.
func readValue(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	body, err := exchange.ReadBody(x, r, savedrules.MaxBytes, "value")
	if err != nil {
		return nil, err
	}
	if !json.Valid(body) {
		return nil, errs.New(errs.InvalidArguments, "the value is not JSON")
	}
	return body, nil
}

// PostLink stores the state of a page. Its name is derived from the state.
func (h *Handlers) PostLink(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	value, err := readValue(x, r)
	if err != nil {
		return nil, err
	}
	user, _ := owner(x)
	sum := sha256.Sum256(value)
	name := base64.RawURLEncoding.EncodeToString(sum[:])[:linkLength]
	return h.store(x, r, &metapb.PutSaved{
		Saved: &metapb.Saved{Kind: savedrules.Link, Name: name, Owner: user, Shared: true}, Value: value,
	})
}

// Delete removes the value that the caller sees.
func (h *Handlers) Delete(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	kind, name, err := pathNames(r)
	if err != nil {
		return nil, err
	}
	version, err := condition(r)
	if err != nil {
		return nil, err
	}
	user, _ := owner(x)
	result, err := h.Store.Propose(r.Context(), &metapb.Command{
		TimeUnixNano: h.Now().UnixNano(),
		Op: &metapb.Command_DropSaved{DropSaved: &metapb.DropSaved{
			Kind: kind, Name: name, Owner: user, IfVersion: version, Manage: mayManage(x),
		}},
	})
	if err != nil {
		return nil, conditionError(err)
	}
	if result.GetSaved() == nil {
		return nil, errors.New("the metadata group deleted nothing but reported success")
	}
	return appendValue(nil, result.GetSaved(), nil), nil
}
