package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/mux"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
)

// Values that users save for a web page: searches, statements, views of tables, and the states behind short links.
// The values are JSON that only the page reads. The metadata stores them, and checks names and sizes.

// Saved is the part of the metadata client for saved values.
type Saved interface {
	Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error)
	// ReadSaved returns the saved values that match a request, as they are at the time of the call.
	ReadSaved(ctx context.Context, req *metapb.ReadSavedRequest) ([]*metapb.ReadSavedResponse, error)
}

const (
	// savedLink is the kind of the states behind short links, and linkLength the length of their names.
	savedLink  = "link"
	linkLength = 12
	// maxSavedBody is the size limit of a value.
	maxSavedBody = 64 << 10
	// linkTouched is the least time between two reports to the metadata that a link was used.
	linkTouched = 24 * time.Hour
)

// savedRoutes returns the routes of saved values.
func (s *Server) savedRoutes() []route {
	one := func(
		methods, params []string, handler func(x *exchange.Exchange, r *http.Request) ([]byte, error),
	) route {
		return route{
			methods: methods, path: "/v1/saved/{kind}/{name}", needs: access.Select, action: "use saved things",
			handler: s.manage(handler), params: params,
		}
	}
	return []route{
		{
			methods: get, path: "/v1/saved", needs: access.Select, action: "use saved things", params: params.ListSaved,
			handler: s.manage(s.listSaved),
		},
		{
			methods: post, path: "/v1/saved/link", needs: access.Select, action: "use saved things",
			handler: s.manage(s.postLink),
		},
		one(get, nil, s.getSaved), one([]string{http.MethodPut}, params.PutSaved, s.putSaved), one(del, nil, s.deleteSaved),
	}
}

// owner returns the user whose values a request is about. If the server has no users, all values are shared.
func owner(x *exchange.Exchange) (name string, alone bool) {
	name = storedBy(x)
	return name, name == ""
}

// mayManage reports whether the caller may change what others share.
func mayManage(x *exchange.Exchange) bool {
	return x.Caller.May(access.Need{Privilege: access.PipelineWrite})
}

// savedPath returns the kind and the name in the path.
func savedPath(r *http.Request) (kind, name string, err error) {
	vars := mux.Vars(r)
	if kind, err = url.PathUnescape(vars["kind"]); err == nil {
		name, err = url.PathUnescape(vars["name"])
	}
	if err != nil || name == "" {
		return "", "", errs.New(errs.InvalidArguments, "the path names nothing: write /v1/saved/KIND/NAME")
	}
	return kind, name, nil
}

// listSaved lists the values that the caller sees, of one kind or of all.
func (s *Server) listSaved(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	query, err := manageQuery(r, "kind")
	if err != nil {
		return nil, err
	}
	user, _ := owner(x)
	list, err := s.cfg.Saved.ReadSaved(r.Context(), &metapb.ReadSavedRequest{
		Kind: query.Get("kind"), Owner: proto.String(user),
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b *metapb.ReadSavedResponse) int {
		return cmp.Or(strings.Compare(a.Saved.Kind, b.Saved.Kind), strings.Compare(a.Saved.Name, b.Saved.Name),
			cmp.Compare(a.Saved.Version, b.Saved.Version))
	})
	out := []byte(`"saved":[`)
	for i, one := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendSaved(append(out, '{'), one.Saved, one.Value), '}')
	}
	return append(out, ']'), nil
}

// appendSaved appends the members of a saved value.
func appendSaved(out []byte, s *metapb.Saved, value []byte) []byte {
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

// getSaved answers with one value: the caller's own one, else the shared one.
func (s *Server) getSaved(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	kind, name, err := savedPath(r)
	if err != nil {
		return nil, err
	}
	user, _ := owner(x)
	list, err := s.cfg.Saved.ReadSaved(r.Context(), &metapb.ReadSavedRequest{
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
	if used := time.Unix(0, one.Saved.UsedUnixNano); kind == savedLink && s.cfg.Now().Sub(used) > linkTouched {
		// Links that are not used are deleted later, so the use is reported. A failure does not matter: the next use
		// is reported again.
		_, _ = s.cfg.Saved.Propose(r.Context(), &metapb.Command{Op: &metapb.Command_TouchSaved{
			TouchSaved: &metapb.TouchSaved{Kind: kind, Name: name},
		}})
	}
	x.Tag = savedTag(one.Saved)
	return appendSaved(nil, one.Saved, one.Value), nil
}

// savedTag returns the ETag of a saved value.
func savedTag(s *metapb.Saved) string { return `"` + strconv.FormatUint(s.Version, 10) + `"` }

// savedCondition reads the version that a request replaces. 0 means that no value may exist.
func savedCondition(r *http.Request) (uint64, error) {
	match, none := params.Header(r.Header, "If-Match"), params.Header(r.Header, "If-None-Match")
	if none == "*" && match == "" && r.Method != http.MethodDelete {
		return 0, nil
	}
	text, quoted := strings.CutSuffix(strings.TrimPrefix(match, `"`), `"`)
	version, err := strconv.ParseUint(text, 10, 63)
	if none != "" || !quoted || err != nil || version == 0 {
		return 0, errs.New(errs.InvalidArguments, "say what is changed: If-Match with the version in quotes, as the header "+
			"ETag has it, or, for what is new, If-None-Match: *")
	}
	return version, nil
}

// putSaved stores a value, and replaces the one that the caller sees.
func (s *Server) putSaved(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	kind, name, err := savedPath(r)
	if err != nil {
		return nil, err
	}
	query, err := manageQuery(r, "shared")
	if err != nil {
		return nil, err
	}
	shared, err := query.Bool("shared", false)
	if err != nil {
		return nil, err
	}
	if kind == savedLink {
		return nil, errs.New(errs.InvalidArguments, "a link is named after its value: use POST /v1/saved/link")
	}
	version, err := savedCondition(r)
	if err != nil {
		return nil, err
	}
	value, err := readSavedBody(r)
	if err != nil {
		return nil, err
	}
	user, alone := owner(x)
	return s.storeSaved(x, r, &metapb.PutSaved{
		Saved: &metapb.Saved{Kind: kind, Name: name, Owner: user, Shared: shared || alone}, Value: value,
		IfVersion: version, Manage: mayManage(x),
	})
}

// storeSaved stores a value, and answers with the stored value.
func (s *Server) storeSaved(x *exchange.Exchange, r *http.Request, put *metapb.PutSaved) ([]byte, error) {
	result, err := s.cfg.Saved.Propose(r.Context(), &metapb.Command{
		TimeUnixNano: s.cfg.Now().UnixNano(), Op: &metapb.Command_PutSaved{PutSaved: put},
	})
	if err != nil {
		return nil, savedError(err)
	}
	x.Tag = savedTag(result.GetSaved())
	return appendSaved(nil, result.GetSaved(), put.Value), nil
}

// savedError sets the status of the error if a condition is not met.
func savedError(err error) error {
	if errs.CodeOf(err) == errs.IllegalState {
		return errs.From(err).WithStatus(http.StatusPreconditionFailed)
	}
	return err
}

// readSavedBody reads a value and removes insignificant space.
func readSavedBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxSavedBody+1))
	if err != nil {
		return nil, errs.Wrap(errs.InvalidArguments, err, "read the value")
	}
	if len(body) > maxSavedBody {
		return nil, errs.New(errs.InvalidArguments, "the value has more than %d bytes", maxSavedBody).
			WithStatus(http.StatusRequestEntityTooLarge)
	}
	if !json.Valid(body) {
		return nil, errs.New(errs.InvalidArguments, "the value is not JSON")
	}
	return body, nil
}

// postLink stores the state of a page under a name that is derived from it.
func (s *Server) postLink(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	value, err := readSavedBody(r)
	if err != nil {
		return nil, err
	}
	user, _ := owner(x)
	sum := sha256.Sum256(value)
	name := base64.RawURLEncoding.EncodeToString(sum[:])[:linkLength]
	return s.storeSaved(x, r, &metapb.PutSaved{
		Saved: &metapb.Saved{Kind: savedLink, Name: name, Owner: user, Shared: true}, Value: value,
	})
}

// deleteSaved removes the value that the caller sees.
func (s *Server) deleteSaved(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	kind, name, err := savedPath(r)
	if err != nil {
		return nil, err
	}
	version, err := savedCondition(r)
	if err != nil {
		return nil, err
	}
	user, _ := owner(x)
	result, err := s.cfg.Saved.Propose(r.Context(), &metapb.Command{
		TimeUnixNano: s.cfg.Now().UnixNano(),
		Op: &metapb.Command_DropSaved{DropSaved: &metapb.DropSaved{
			Kind: kind, Name: name, Owner: user, IfVersion: version, Manage: mayManage(x),
		}},
	})
	if err != nil {
		return nil, savedError(err)
	}
	if result.GetSaved() == nil {
		return nil, errors.New("the metadata deleted nothing and did not say so")
	}
	return appendSaved(nil, result.GetSaved(), nil), nil
}
