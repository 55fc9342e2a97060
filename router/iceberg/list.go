package iceberg

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gorilla/mux"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
)

// answering returns the handler of a function that answers a request, or returns an error. Clients expect status 404
// for what does not exist.
func (c *Catalog) answering(do func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := do(w, r)
		if err == nil {
			return
		}
		if e := errs.From(err); e.Code == errs.DatabaseNotFound || e.Code == errs.TableNotFound {
			err = e.WithStatus(http.StatusNotFound)
		}
		exchange.WriteError(w, r, err)
	}
}

// answer writes a value as JSON. To HEAD, which asks whether something exists, it answers 204.
func answer(w http.ResponseWriter, r *http.Request, value any) error {
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	out, err := json.Marshal(value)
	if err != nil {
		return err
	}
	exchange.WriteJSON(w, http.StatusOK, out)
	return nil
}

func (c *Catalog) configuration(w http.ResponseWriter, r *http.Request) error {
	return answer(w, r, json.RawMessage(c.config))
}

// separator is between the parts of a namespace in a path.
const separator = "\x1f"

// database returns the database of the request's namespace. A database has no namespaces in it.
func database(r *http.Request) (string, error) {
	name := params.Unescape(mux.Vars(r)["namespace"])
	if strings.Contains(name, separator) {
		return "", errs.New(errs.DatabaseNotFound, "namespace %q does not exist: a namespace is a database, and has one part",
			strings.ReplaceAll(name, separator, "."))
	}
	if schema.ReservedDatabase(name) {
		return "", errs.New(errs.DatabaseNotFound, "namespace %q does not exist: tables of the server are not shown", name)
	}
	return name, nil
}

// page is a part of a list of names.
type page struct {
	after string
	size  int
	// whole is set if the client wants all names.
	whole bool
}

// pageOf reads the parameters pageToken and pageSize. As the specification says, a client that sends no pageToken gets
// the whole list.
func pageOf(query params.Values) (page, error) {
	p := page{size: maxPage}
	token, paged := query.Lookup("pageToken")
	p.whole = !paged
	after, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return p, errs.New(errs.InvalidArguments, "pageToken: %.80q is not a token of an earlier answer", token)
	}
	p.after = string(after)
	if text, ok := query.Lookup("pageSize"); ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return p, errs.New(errs.InvalidArguments, "pageSize: %.80q is not a positive number", text)
		}
		p.size = min(n, maxPage)
	}
	return p, nil
}

// cut returns the names of the page from an ordered list, and the token of the next page; nil if it is the last one.
func (p page) cut(names []string) (list []string, next *string, err error) {
	if p.whole {
		if len(names) > maxPage {
			return nil, nil, errs.New(errs.InvalidArguments, "listing %d names: an answer has at most %d: ask for pages, with "+
				"pageSize and pageToken (a client has a setting for it, such as rest-page-size)", len(names), maxPage)
		}
		return names, nil, nil
	}
	at, found := slices.BinarySearch(names, p.after)
	if found {
		at++
	}
	if p.after == "" {
		at = 0
	}
	names = names[at:]
	if len(names) > p.size {
		token := base64.RawURLEncoding.EncodeToString([]byte(names[p.size-1]))
		return names[:p.size], &token, nil
	}
	return names, nil, nil
}

func (c *Catalog) namespaces(w http.ResponseWriter, r *http.Request) error {
	query, err := params.ParseOnce(r.URL.RawQuery, "parent", "pageToken", "pageSize")
	if err != nil {
		return err
	}
	p, err := pageOf(query)
	if err != nil {
		return err
	}
	names, err := c.cfg.Names.Databases(r.Context())
	if err != nil {
		return err
	}
	if parent := query.Get("parent"); parent != "" {
		if !slices.Contains(names, parent) {
			return errs.New(errs.DatabaseNotFound, "namespace %.200q does not exist",
				strings.ReplaceAll(parent, separator, "."))
		}
		names = nil
	}
	names, next, err := p.cut(names)
	if err != nil {
		return err
	}
	list := make([][]string, len(names))
	for i, name := range names {
		list[i] = []string{name}
	}
	return answer(w, r, struct {
		Namespaces [][]string `json:"namespaces"`
		Next       *string    `json:"next-page-token"`
	}{list, next})
}

func (c *Catalog) namespace(w http.ResponseWriter, r *http.Request) error {
	name, err := database(r)
	if err != nil {
		return err
	}
	if _, err := c.cfg.Names.Tables(r.Context(), name); err != nil {
		return err
	}
	return answer(w, r, struct {
		Namespace  []string `json:"namespace"`
		Properties struct{} `json:"properties"`
	}{Namespace: []string{name}})
}

// identifier is a table in a list.
type identifier struct {
	Namespace []string `json:"namespace"`
	Name      string   `json:"name"`
}

// identifiers is a list of tables or views.
type identifiers struct {
	Identifiers []identifier `json:"identifiers"`
	Next        *string      `json:"next-page-token"`
}

func (c *Catalog) tables(w http.ResponseWriter, r *http.Request) error {
	name, err := database(r)
	if err != nil {
		return err
	}
	query, err := params.ParseOnce(r.URL.RawQuery, "pageToken", "pageSize")
	if err != nil {
		return err
	}
	p, err := pageOf(query)
	if err != nil {
		return err
	}
	readable, err := c.cfg.Names.Tables(r.Context(), name)
	if err != nil {
		return err
	}
	committed, err := c.cfg.Source.Tables(r.Context())
	if err != nil {
		return errs.Wrap(errs.ObjectStorageUnavailable, err, "listing the Iceberg tables of %s", name)
	}
	may := make(map[string]bool, len(readable))
	for _, t := range readable {
		may[t.Name] = true
	}
	var names []string
	for _, t := range committed {
		if t.Database == name && may[t.Name] {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	names, next, err := p.cut(names)
	if err != nil {
		return err
	}
	list := make([]identifier, len(names))
	for i, table := range names {
		list[i] = identifier{[]string{name}, table}
	}
	return answer(w, r, identifiers{list, next})
}

// views answers clients that ask for views although the catalog does not offer any.
func (c *Catalog) views(w http.ResponseWriter, r *http.Request) error {
	name, err := database(r)
	if err != nil {
		return err
	}
	if _, err := c.cfg.Names.Tables(r.Context(), name); err != nil {
		return err
	}
	return answer(w, r, identifiers{Identifiers: []identifier{}})
}

func (c *Catalog) view(_ http.ResponseWriter, r *http.Request) error {
	name, err := database(r)
	if err != nil {
		return err
	}
	return errs.New(errs.TableNotFound, "view %s.%.200s does not exist: the catalog has no views", name,
		params.Unescape(mux.Vars(r)["view"]))
}
