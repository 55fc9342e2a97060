// Package web serves the page for browsers at /dashboard/: index.html with a nonce of its own for each answer, and
// everything else as assets whose address has a hash of them all, so that browsers keep them forever.
//
// The scripts are written by hand in app, with the libraries of vendor, which `make vendor-web` builds. In the program
// is a bundle of them, which `make web-bundle` builds and which is committed: users build nothing, and a browser asks
// for two scripts. Files are hashed and compressed once, when the first request comes.
//
// The package knows nothing of users: assets hold no data, and the API asks for itself. A Handler may be used
// concurrently and has nothing to close.
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

// The script that the page begins with: in the program, and in a folder.
const bundledEntry, folderEntry = "bundle/main.js", "app/main.js"

// Root is where the page is.
const Root = "/dashboard/"

// Config is what a Handler serves.
type Config struct {
	// Dir is a folder with the folders app and vendor, whose files are read again for each request: for work on
	// the page. The default value serves the files in the program.
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

// ServeHTTP answers every path from Root on. Paths below a/ are assets, boot.js is the script that runs before all
// others, and whatever else there is is the page: it reads the address itself.
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

// Redirect answers an address that leads to the page, with the query string kept.
func Redirect(w http.ResponseWriter, r *http.Request) {
	rest := strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), "/ui"), "/dashboard")
	to := Root + strings.TrimLeft(rest, "/")
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusPermanentRedirect)
}
