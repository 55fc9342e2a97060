// Package web serves the page for browsers at /dashboard/. index.html gets a new nonce for each answer. All other
// files are assets. Their address contains a hash of all assets, so browsers may cache them forever.
//
// The scripts in app are written by hand. `make vendor-web` builds the libraries in vendor. The program contains a
// bundle of both, which `make web-bundle` builds. The bundle is committed, so users build nothing, and a browser
// requests two scripts. Files are hashed and compressed once, at the first request.
//
// The package does not check users, because assets contain no data, and the API checks its own requests. A Handler
// may be used concurrently and has nothing to close.
package web

import (
	"embed"
	"net/http"
	"os"
	"strings"
	"sync"
)

//go:embed app/index.html app/boot.js app/icon.svg app/style bundle vendor/fonts
var embedded embed.FS

// The script that the page starts with: the bundled one, and the one in a folder.
const bundledEntry, folderEntry = "bundle/main.js", "app/main.js"

// Root is the path of the page.
const Root = "/dashboard/"

// Config has the settings of a Handler.
type Config struct {
	// Dir is a folder with the folders app and vendor, whose files are read again for each request. It is for work on
	// the page. By default the files in the program are served.
	Dir string
}

// Handler serves the page. See the package comment.
type Handler struct {
	load func() (*assets, error)
}

// New returns a Handler.
func New(cfg Config) *Handler {
	if cfg.Dir != "" {
		dir := os.DirFS(cfg.Dir)
		return &Handler{load: func() (*assets, error) { return readAssets(dir, folderEntry, asIs) }}
	}
	return &Handler{load: sync.OnceValues(func() (*assets, error) { return readAssets(embedded, bundledEntry, compress) })}
}

// ServeHTTP answers every path below Root. Paths below a/ are assets, and boot.js is the script that runs before
// all others. For all other paths it returns the page, which reads the path itself.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := h.load()
	if err != nil {
		http.Error(w, "the files of the page cannot be read: "+err.Error(), http.StatusInternalServerError)
		return
	}
	path := strings.TrimPrefix(r.URL.Path, Root)
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	switch {
	case path == "boot.js":
		header.Set("Cache-Control", "no-cache")
		a.files["app/boot.js"].serve(w, r)
	case strings.HasPrefix(path, "a/"):
		a.serve(w, r, strings.TrimPrefix(path, "a/"))
	default:
		a.serveIndex(w)
	}
}

// Redirect redirects an address to the page and keeps the query string.
func Redirect(w http.ResponseWriter, r *http.Request) {
	rest := strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), "/ui"), "/dashboard")
	to := Root + strings.TrimLeft(rest, "/")
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusPermanentRedirect)
}
