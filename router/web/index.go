package web

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
)

// index is index.html with the addresses of the files of this version.
type index struct {
	before, after []byte // the nonce is between them
}

// policy is the content security policy: files of the page only, nothing from other origins. The nonce is for the
// styles in index.html.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'"

// The placeholders in index.html.
const (
	hashPlace    = "{{hash}}"
	noncePlace   = "{{nonce}}"
	preloadPlace = "{{preload}}"
	stylePlace   = "{{style}}"
	entryPlace   = "{{entry}}"
)

// readIndex makes the shell of a page that begins with the script entry and the scripts first, and with styles.
func readIndex(from fs.FS, hash, entry string, first []string, styles []byte) (*index, error) {
	text, err := fs.ReadFile(from, "app/index.html")
	if err != nil {
		return nil, err
	}
	var links strings.Builder
	for _, name := range first {
		if name == entry {
			continue // a separate tag loads it
		}
		fmt.Fprintf(&links, "<link rel=modulepreload href=\"/dashboard/a/%s/%s\">\n", hash, name)
	}
	text = bytes.ReplaceAll(text, []byte(hashPlace), []byte(hash))
	text = bytes.Replace(text, []byte(stylePlace), shorten(styles), 1)
	text = bytes.Replace(text, []byte(entryPlace), []byte(entry), 1)
	text = bytes.Replace(text, []byte(preloadPlace), []byte(links.String()), 1)
	before, after, found := bytes.Cut(text, []byte(noncePlace))
	if !found {
		return nil, fmt.Errorf("app/index.html lacks %s", noncePlace)
	}
	return &index{before: before, after: after}, nil
}

var (
	comments = regexp.MustCompile(`(?s)/\*.*?\*/`)
	blanks   = regexp.MustCompile(`\s+`)
	around   = regexp.MustCompile(` ?([{};]) ?|([:,]) `)
)

// shorten leaves out the comments of styles, and the blanks that separate nothing. A blank before a colon stays: in a
// selector, it stands between an element and what is inside of it.
func shorten(styles []byte) []byte {
	one := blanks.ReplaceAll(comments.ReplaceAll(styles, nil), []byte(" "))
	return bytes.TrimSpace(bytes.ReplaceAll(around.ReplaceAll(one, []byte("$1$2")), []byte(";}"), []byte("}")))
}

// An import that is needed before the module that has it can run, as written by hand or by the bundler.
var importLine = regexp.MustCompile(
	`(?m)(?:^|;)(?:import|export|\})[^'";()]*?(?:\bfrom)?\s*['"](\.[^'"]+)['"]`)

// imported lists the modules that a module imports, directly or through others, so that the browser can request all
// of them at once.
func imported(sources map[string][]byte, from string) []string {
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] || sources[name] == nil {
			return
		}
		seen[name] = true
		for _, m := range importLine.FindAllSubmatch(sources[name], -1) {
			visit(path.Join(path.Dir(name), string(m[1])))
		}
	}
	visit(from)
	return slices.Sorted(maps.Keys(seen))
}

// serveIndex answers with the page.
func (a *assets) serveIndex(w http.ResponseWriter) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	nonce := base64.StdEncoding.EncodeToString(random[:])
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", fmt.Sprintf(policy, nonce))
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	_, _ = w.Write(slices.Concat(a.index.before, []byte(nonce), a.index.after)) // the client may be gone
}
