package iceberg

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
)

// option is the option of tables that are shown.
const option = "iceberg"

// loadTimeout limits the time for reading a metadata file.
const loadTimeout = 30 * time.Second

// metadata is a metadata file. It does not change.
type metadata struct {
	file []byte
	// refs is the file with the snapshots that branches and tags name.
	refs []byte
}

// load answers with the metadata of a table, or whether the table exists.
func (c *Catalog) load(w http.ResponseWriter, r *http.Request) error {
	db, err := database(r)
	if err != nil {
		return err
	}
	query, err := params.ParseOnce(r.URL.RawQuery, "snapshots")
	if err != nil {
		return err
	}
	snapshots := query.Get("snapshots")
	if snapshots != "" && snapshots != "all" && snapshots != "refs" {
		return errs.New(errs.InvalidArguments, "snapshots: %.80q is neither all nor refs", snapshots)
	}
	name := params.Unescape(mux.Vars(r)["table"])
	t, err := c.committed(r.Context(), db, name, r.Method+" "+r.URL.Path)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	tag := tagOf(t.Location, snapshots == "refs")
	w.Header().Set("ETag", tag)
	if matches(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	file, err := c.file(r.Context(), t)
	if err != nil {
		w.Header().Del("ETag")
		return err
	}
	body := file.file
	if snapshots == "refs" {
		body = file.refs
	}
	out := append([]byte(`{"metadata-location":`), exchange.AppendJSONString(nil, t.Location)...)
	out = append(append(append(out, `,"metadata":`...), body...), `,"config":{}}`...)
	exchange.WriteJSON(w, http.StatusOK, out)
	return nil
}

// committed returns a table that the caller may read.
func (c *Catalog) committed(ctx context.Context, database, name, request string) (Table, error) {
	def, err := c.cfg.Names.TableRead(ctx, database, name, request)
	if err != nil {
		return Table{}, err
	}
	t, ok, err := c.cfg.Source.Table(ctx, database, name)
	switch {
	case err != nil:
		return Table{}, errs.Wrap(errs.ObjectStorageUnavailable, err, "finding the commit of Iceberg table %s.%s", database,
			name)
	case ok:
		return t, nil
	case def.Options[option] == "":
		return Table{}, errs.New(errs.TableNotFound, "table %s.%s is not an Iceberg table: it has no option iceberg",
			database, name)
	}
	return Table{}, errs.New(errs.TableNotFound, "table %s.%s has no commit yet: its rows must be in object storage first",
		database, name)
}

// file returns the metadata file of a table, from memory or from the source. Requests for the same file share a load.
func (c *Catalog) file(ctx context.Context, t Table) (*metadata, error) {
	c.mu.Lock()
	m, ok := c.files.Get(t.Location)
	c.mu.Unlock()
	if ok {
		return m, nil
	}
	result := c.loading.DoChan(t.Location, func() (any, error) {
		// The load goes on if the first of its requests ends.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		return c.read(ctx, t)
	})
	select {
	case done := <-result:
		if done.Err != nil {
			return nil, done.Err
		}
		return done.Val.(*metadata), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// read reads the metadata file of a table, and keeps it in memory.
func (c *Catalog) read(ctx context.Context, t Table) (*metadata, error) {
	select {
	case c.loads <- struct{}{}:
		defer func() { <-c.loads }()
	case <-ctx.Done():
		return nil, errs.New(errs.ObjectStorageUnavailable, "reading the metadata of Iceberg table %s.%s: too many other "+
			"tables are read", t.Database, t.Name)
	}
	file, err := c.cfg.Source.Metadata(ctx, t)
	if err != nil {
		return nil, errs.Wrap(errs.ObjectStorageUnavailable, err, "reading the metadata of Iceberg table %s.%s", t.Database,
			t.Name)
	}
	m, err := parse(file)
	if err != nil {
		return nil, errs.Wrap(errs.ObjectStorageUnavailable, err, "metadata file %s of Iceberg table %s.%s", t.Location,
			t.Database, t.Name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files.Put(t.Location, m, int64(len(m.file)+len(m.refs)))
	return m, nil
}

// parse checks a metadata file.
func parse(file []byte) (*metadata, error) {
	if len(file) > maxMetadata {
		return nil, fmt.Errorf("has %d bytes; %d are allowed", len(file), maxMetadata)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(file, &members); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if len(members["format-version"]) == 0 || len(members["table-uuid"]) == 0 {
		return nil, errors.New("has no format-version or no table-uuid")
	}
	refs, err := referenced(members)
	if err != nil {
		return nil, err
	}
	return &metadata{file: file, refs: refs}, nil
}

// referenced returns a metadata file without the snapshots that no branch or tag names.
func referenced(members map[string]json.RawMessage) ([]byte, error) {
	var refs map[string]struct {
		ID int64 `json:"snapshot-id"`
	}
	var snapshots []json.RawMessage
	for name, to := range map[string]any{"refs": &refs, "snapshots": &snapshots} {
		if text := members[name]; len(text) > 0 {
			if err := json.Unmarshal(text, to); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	named := map[int64]bool{}
	for _, ref := range refs {
		named[ref.ID] = true
	}
	kept := []json.RawMessage{}
	for _, text := range snapshots {
		var s struct {
			ID int64 `json:"snapshot-id"`
		}
		if err := json.Unmarshal(text, &s); err != nil {
			return nil, fmt.Errorf("snapshots: %w", err)
		}
		if named[s.ID] {
			kept = append(kept, text)
		}
	}
	var err error
	if members["snapshots"], err = json.Marshal(kept); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

// tagOf returns the ETag of an answer.
func tagOf(location string, refs bool) string {
	sum := sha256.Sum256([]byte(location))
	tag := hex.EncodeToString(sum[:16])
	if refs {
		tag += "-refs"
	}
	return `"` + tag + `"`
}

// matches reports whether a header If-None-Match contains a tag. Proxies that compress mark the tag as weak.
func matches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
			return true
		}
	}
	return false
}
