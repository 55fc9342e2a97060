package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
)

// assets are the files of the page by path, for example app/main.js.
type assets struct {
	files map[string]*file
	hash  string
	index *index
	first []string // the scripts that the page loads first
}

// file is a file, plain and compressed. If compression does not make it smaller, there is only the plain form.
type file struct {
	contentType         string
	plain, gzip, brotli []byte
}

// firstStyles are part of index.html, so that the browser paints before it has any other file. The other styles are
// joined, in this order, into the one style sheet of the page.
var (
	firstStyles = []string{"tokens.css", "first.css"}
	styles      = []string{"reset.css", "components.css", "pages.css", "small.css"}
)

const styleSheet = "app/style/style.css"

var contentTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".woff2": "font/woff2",
}

// readAssets reads, hashes and compresses all files. The page starts with the script entry.
func readAssets(from fs.FS, entry string, form func(contentType string, plain []byte) *file) (*assets, error) {
	a := &assets{files: map[string]*file{}}
	sources := map[string][]byte{}
	for _, root := range []string{"app", path.Dir(entry), "vendor"} {
		err := fs.WalkDir(from, root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || contentTypes[path.Ext(name)] == "" {
				return err
			}
			sources[name], err = fs.ReadFile(from, name)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	sheet, err := joinStyles(sources, styles)
	if err != nil {
		return nil, err
	}
	sources[styleSheet] = shorten(sheet)
	atFirst, err := joinStyles(sources, firstStyles)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	names := make([]string, 0, len(sources))
	for name := range sources {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		sum.Write([]byte(name))
		sum.Write(sources[name])
		a.files[name] = form(contentTypes[path.Ext(name)], sources[name])
	}
	a.hash = hex.EncodeToString(sum.Sum(nil))[:12]
	a.first = imported(sources, entry)
	a.index, err = readIndex(from, a.hash, entry, a.first, atFirst)
	return a, err
}

// joinStyles joins style sheets, so that there is one request and the order is defined in one place.
func joinStyles(sources map[string][]byte, names []string) (all []byte, err error) {
	for _, name := range names {
		text, ok := sources["app/style/"+name]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: "app/style/" + name, Err: fs.ErrNotExist}
		}
		all = append(all, text...)
	}
	return all, nil
}

// asIs does not compress a file, because that takes longer than the time until the folder is read again.
func asIs(contentType string, plain []byte) *file {
	return &file{contentType: contentType, plain: plain}
}

// brotliLevel is the compression level. Higher levels make files only slightly smaller but take ten times as long,
// and the first client has to wait for it.
const brotliLevel = 9

// compress makes a file smaller.
func compress(contentType string, plain []byte) *file {
	f := &file{contentType: contentType, plain: plain}
	if contentType == contentTypes[".woff2"] {
		return f // compressed already
	}
	smaller := func(open func(io.Writer) io.WriteCloser) []byte {
		var b bytes.Buffer
		w := open(&b)
		_, _ = w.Write(plain) // writing to a buffer does not fail
		if w.Close() != nil || b.Len() >= len(plain) {
			return nil
		}
		return b.Bytes()
	}
	f.gzip = smaller(func(w io.Writer) io.WriteCloser {
		z, _ := gzip.NewWriterLevel(w, gzip.BestCompression) // the level is valid
		return z
	})
	f.brotli = smaller(func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, brotliLevel) })
	return f
}

// serve answers HASH/PATH. A different hash belongs to another version, whose files do not work together with
// these.
func (a *assets) serve(w http.ResponseWriter, r *http.Request, name string) {
	hash, name, _ := strings.Cut(name, "/")
	f := a.files[name]
	if hash != a.hash || f == nil {
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, "there is no such file in this version of the page: reload it", http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	f.serve(w, r)
}

// serve answers with the smallest form that the client accepts.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", f.contentType)
	header.Add("Vary", "Accept-Encoding")
	body := f.plain
	switch {
	case f.brotli != nil && accepts(r, "br"):
		body = f.brotli
		header.Set("Content-Encoding", "br")
	case f.gzip != nil && accepts(r, "gzip"):
		body = f.gzip
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone
	}
}

// accepts reports whether the client accepts an encoding.
func accepts(r *http.Request, encoding string) bool {
	for part := range strings.SplitSeq(strings.Join(r.Header["Accept-Encoding"], ","), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), encoding) {
			return strings.Trim(strings.TrimPrefix(strings.TrimSpace(weight), "q="), "0.") != "" || weight == ""
		}
	}
	return false
}
