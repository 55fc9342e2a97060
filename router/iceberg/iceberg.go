// Package iceberg is a catalog of Apache Iceberg for other engines: the part of the REST catalog API that reads, at
// /iceberg/v1/. A database is a namespace, and a table with the option iceberg is a table of the same name. The API is
// described at https://github.com/apache/iceberg/blob/main/open-api/rest-catalog-open-api.yaml.
//
// The catalog shows what a node commits. It makes no commits, and answers requests that change something with 406. It
// gives clients the place of the files, but no credentials for them.
//
// A Catalog has no goroutines except during requests, and nothing to close. It may be used concurrently.
package iceberg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"

	"golang.org/x/sync/singleflight"

	"cordwood/proto/lru"
	"cordwood/proto/schema"
)

// Table is a table that has been committed at least once.
type Table struct {
	Database, Name string
	// UUID identifies the Iceberg table. It differs for a table that was dropped and created again.
	UUID string
	// Location is the location of the current metadata file. A file with another content has another location.
	Location string
}

// Source has the committed tables.
type Source interface {
	// Table returns one table. ok is false if it has no commit.
	Table(ctx context.Context, database, name string) (t Table, ok bool, err error)
	// Tables returns all tables.
	Tables(ctx context.Context) ([]Table, error)
	// Metadata returns the metadata file of a table, as JSON.
	Metadata(ctx context.Context, t Table) ([]byte, error)
}

// Names finds databases and tables for the caller in a context, with the rules of SQL statements that read.
type Names interface {
	// Databases returns the names of the databases that the caller may see, in order, without those of the server.
	Databases(ctx context.Context) ([]string, error)
	// Tables returns the tables of a database that the caller may read, in the order of their names.
	Tables(ctx context.Context, database string) ([]*schema.Table, error)
	// TableRead returns a table that the caller may read. request is the request that reads it, for the record that the
	// option audit.reads makes.
	TableRead(ctx context.Context, database, name, request string) (*schema.Table, error)
}

// Config has the parts of a Catalog. Source and Names are required.
type Config struct {
	Source Source
	Names  Names
	// Properties are settings with which clients reach the files, for example s3.endpoint. A client may replace them.
	Properties map[string]string
}

const (
	// maxMetadata limits the size of a metadata file, in bytes.
	maxMetadata = 32 << 20
	// cacheBytes limits the size of the metadata files in memory, and maxLoads the number that are loaded at once.
	cacheBytes, maxLoads = 64 << 20, 4
	// maxPage limits the number of names in one answer.
	maxPage = 10_000
)

// Catalog answers requests for the catalog. See the package comment.
type Catalog struct {
	cfg Config
	// config is the answer to the request for the configuration.
	config []byte

	loads   chan struct{} // has an element for each load
	loading singleflight.Group

	mu    sync.Mutex // guards files
	files *lru.Cache[string, *metadata]
}

// New returns a Catalog.
func New(cfg Config) (*Catalog, error) {
	if cfg.Source == nil || cfg.Names == nil {
		return nil, errors.New("iceberg: Config.Source and Config.Names must be set")
	}
	if cfg.Properties == nil {
		cfg.Properties = map[string]string{}
	}
	cfg.Properties = maps.Clone(cfg.Properties)
	config, err := json.Marshal(struct {
		Defaults  map[string]string `json:"defaults"`
		Overrides struct{}          `json:"overrides"`
		Endpoints []string          `json:"endpoints"`
	}{Defaults: cfg.Properties, Endpoints: endpoints()})
	if err != nil {
		return nil, fmt.Errorf("iceberg: %w", err)
	}
	return &Catalog{
		cfg: cfg, config: config, loads: make(chan struct{}, maxLoads), files: lru.New[string, *metadata](cacheBytes),
	}, nil
}

// Route is a path with its handler.
type Route struct {
	Methods []string
	Path    string
	Handler http.HandlerFunc
	// Open is set if the route needs no privilege, and no user.
	Open bool
	// Rest is set for the route of all paths and methods that no other route has.
	Rest bool
}

// Paths of the catalog.
const (
	root           = "/iceberg/v1"
	namespacesPath = root + "/namespaces"
	namespacePath  = namespacesPath + "/{namespace}"
	tablesPath     = namespacePath + "/tables"
	tablePath      = tablesPath + "/{table}"
	viewsPath      = namespacePath + "/views"
	viewPath       = viewsPath + "/{view}"
)

var (
	get    = []string{http.MethodGet, http.MethodHead}
	writes = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
)

// Routes returns the routes of the catalog. They need the privilege SELECT on any table, unless they are open. The
// handlers check it for the tables that they show.
func (c *Catalog) Routes() []Route {
	routes := []Route{
		{Path: root + "/config", Handler: c.answering(c.configuration)},
		{Path: namespacesPath, Handler: c.answering(c.namespaces)},
		{Path: namespacePath, Handler: c.answering(c.namespace)},
		{Path: tablesPath, Handler: c.answering(c.tables)},
		{Path: tablePath, Handler: c.answering(c.load)},
		{Path: viewsPath, Handler: c.answering(c.views)},
		{Path: viewPath, Handler: c.answering(c.view)},
	}
	for i := range routes {
		routes[i].Methods = get
		routes = append(routes, Route{Methods: writes, Path: routes[i].Path, Handler: refuseChange})
	}
	return append(routes,
		Route{Methods: writes[:1], Path: root + "/oauth/tokens", Handler: refuseToken, Open: true},
		Route{Methods: get, Path: root + "/{rest:.*}", Handler: refusePath, Rest: true},
		Route{Methods: writes, Path: root + "/{rest:.*}", Handler: refuseChange, Rest: true})
}

// endpoints returns the requests that are answered, as clients read them. A client that knows them does not send
// others.
func endpoints() []string {
	const in = "/v1/{prefix}/namespaces"
	return []string{
		"GET " + in, "GET " + in + "/{namespace}", "HEAD " + in + "/{namespace}",
		"GET " + in + "/{namespace}/tables",
		"GET " + in + "/{namespace}/tables/{table}", "HEAD " + in + "/{namespace}/tables/{table}",
	}
}
