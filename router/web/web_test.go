package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func get(t *testing.T, h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestIndex checks that every path returns the page, each time with a new nonce, and that the policy allows no other
// scripts.
func TestIndex(t *testing.T) {
	h := New(Config{})
	nonces := map[string]bool{}
	for _, p := range []string{"/dashboard/", "/dashboard/explore", "/dashboard/s/a.b", "/dashboard/x/../y"} {
		w := get(t, h, p)
		body := w.Body.String()
		if w.Code != 200 || !strings.Contains(body, `id=app`) || w.Header().Get("Cache-Control") != "no-store" {
			t.Fatalf("%s: %d %v", p, w.Code, w.Header())
		}
		nonce := regexp.MustCompile(`'nonce-([^']+)'`).FindStringSubmatch(w.Header().Get("Content-Security-Policy"))
		if nonce == nil || nonces[nonce[1]] || !strings.Contains(body, nonce[1]) {
			t.Errorf("%s: nonce %q", p, nonce)
		}
		nonces[nonce[1]] = true
		if strings.Contains(body, "{{") || strings.Contains(body, "style=") || len(body) > 6<<10 {
			t.Errorf("%s: %d bytes\n%s", p, len(body), body)
		}
		if csp := w.Header().Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") ||
			!strings.Contains(csp, "require-trusted-types-for 'script'") {
			t.Errorf("%s: %s", p, csp)
		}
	}
}

// TestAssets asks for each file that the page names, in each form, and for those of another version.
func TestAssets(t *testing.T) {
	h := New(Config{})
	page := get(t, h, Root).Body.String()
	names := regexp.MustCompile(`"(/dashboard/a/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(names) != 7 { // two scripts, the style sheet twice, two fonts and the picture
		t.Fatalf("%d files", len(names))
	}
	for _, m := range names {
		plain := get(t, h, m[1])
		if plain.Code != 200 || !strings.Contains(plain.Header().Get("Cache-Control"), "immutable") ||
			plain.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %v", m[1], plain.Code, plain.Header())
		}
		for encoding, want := range map[string]string{
			"gzip, br": "br", "gzip": "gzip", "br;q=0, gzip;q=0.5": "gzip", "x": "",
		} {
			w := get(t, h, m[1], "Accept-Encoding", encoding)
			got := w.Header().Get("Content-Encoding")
			if got != want && (got != "" || strings.HasSuffix(m[1], ".js") && plain.Body.Len() > 300) {
				t.Errorf("%s as %s is %q", m[1], encoding, got)
			}
			if got != "" && w.Body.Len() >= plain.Body.Len() {
				t.Errorf("%s as %s has %d bytes of %d", m[1], encoding, w.Body.Len(), plain.Body.Len())
			}
		}
	}
	for _, p := range []string{"a/0123456789ab/app/main.js", "a/", "a/x", strings.TrimPrefix(names[0][1], Root) + "x"} {
		if w := get(t, h, Root+p); w.Code != 404 {
			t.Errorf("%s: %d", p, w.Code)
		}
	}
	if w := get(t, h, Root+"boot.js"); w.Code != 200 || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("boot.js: %d %v", w.Code, w.Header())
	}
}

func TestRedirect(t *testing.T) {
	for from, to := range map[string]string{
		"/ui": "/dashboard/", "/ui/": "/dashboard/", "/dashboard": "/dashboard/",
		"/ui/explore?q=a%20b": "/dashboard/explore?q=a%20b",
		"/ui//evil.example":   "/dashboard/evil.example", "/ui/s/a%2Fb": "/dashboard/s/a%2Fb",
	} {
		w := get(t, http.HandlerFunc(Redirect), from)
		if w.Code != http.StatusPermanentRedirect || w.Header().Get("Location") != to {
			t.Errorf("%s: %d %s, want %s", from, w.Code, w.Header().Get("Location"), to)
		}
	}
}

// TestFolder checks that a changed file of a folder is served at the next request.
func TestFolder(t *testing.T) {
	dir := fstest.MapFS{
		"app/index.html": {Data: []byte("{{hash}} {{preload}} {{nonce}} {{style}}")},
		"app/main.js":    {Data: []byte("import { a } from './lib/a.js';")}, "app/lib/a.js": {Data: []byte("1")},
		"vendor/core.js": {Data: []byte("2")},
	}
	for _, name := range slices.Concat(styles, firstStyles) {
		dir["app/style/"+name] = &fstest.MapFile{Data: []byte("a { /* a comment */ }\n")}
	}
	first, err := readAssets(dir, folderEntry, asIs)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(first.index.before), "/app/lib/a.js") {
		t.Errorf("the browser is not told of the second module: %s", first.index.before)
	}
	if !strings.Contains(string(first.index.after), "a{}a{}") {
		t.Errorf("the first styles are not in the page: %s", first.index.after)
	}
	dir["app/main.js"] = &fstest.MapFile{Data: []byte("3")}
	if second, err := readAssets(dir, folderEntry, asIs); err != nil || second.hash == first.hash {
		t.Errorf("%v, %s twice", err, first.hash)
	}
	delete(dir, "app/style/"+styles[0])
	if _, err := readAssets(dir, folderEntry, asIs); err == nil {
		t.Error("a style sheet is missing, and nobody says so")
	}
}

// The most that the page may weigh, compressed: its scripts without those of the editors, those that it begins with,
// styles and fonts.
const mostScript, mostAtFirst, mostStyle, mostFonts = 100 << 10, 64 << 10, 13 << 10, 80 << 10

func TestBudgets(t *testing.T) {
	a, err := readAssets(embedded, bundledEntry, compress)
	if err != nil {
		t.Fatal(err)
	}
	script, editors, fonts := 0, 0, 0
	for name, f := range a.files {
		switch path.Ext(name) {
		case ".js":
			if strings.HasPrefix(name, "bundle/editors-") {
				editors = len(f.gzip)
				continue
			}
			script += len(f.gzip)
			if f.gzip == nil {
				script += len(f.plain)
			}
		case ".woff2":
			fonts += len(f.plain)
		}
	}
	style := len(a.files[styleSheet].gzip)
	atFirst := 0
	for _, name := range a.first {
		atFirst += len(a.files[name].gzip)
	}
	if atFirst == 0 || atFirst > mostAtFirst {
		t.Errorf("%d bytes of scripts before the first rows, of at most %d: %s", atFirst, mostAtFirst, a.first)
	}
	t.Logf("script %d, editors %d, style %d, fonts %d bytes", script, editors, style, fonts)
	if editors == 0 {
		t.Error("no script has the pages with an editor: deploy/tools/web/bundle.mjs names it")
	}
	if script > mostScript || style > mostStyle || fonts > mostFonts {
		t.Errorf("script %d of %d, style %d of %d, fonts %d of %d bytes", script, mostScript, style, mostStyle,
			fonts, mostFonts)
	}
}

// layers are the folders of app, from the bottom: each imports only from itself and those below it.
var layers = []string{"lib", "stores", "components", "pages", "."}

func layerOf(name string) int {
	dir := path.Dir(strings.TrimPrefix(name, "app/"))
	for i, l := range layers {
		if l == dir {
			return i
		}
	}
	return -1
}

// TestLayers walks the imports of all modules: none goes up, and none leads back to where it began.
func TestLayers(t *testing.T) {
	sources := readScripts(t)
	imports := regexp.MustCompile(`(?s)(?:^|\n)(?:import|export)\s[^;]*?from\s+'(\.[^']+)'`)
	next := map[string][]string{}
	for name, text := range sources {
		for _, m := range imports.FindAllStringSubmatch(text, -1) {
			to := path.Join(path.Dir(name), m[1])
			if strings.HasPrefix(to, "vendor/") {
				continue
			}
			if sources[to] == "" || layerOf(to) < 0 {
				t.Errorf("%s imports %s, which is not there", name, to)
			} else if layerOf(to) > layerOf(name) {
				t.Errorf("%s imports %s from a layer above it", name, to)
			}
			next[name] = append(next[name], to)
		}
	}
	for name := range next {
		if back := leadsTo(next, name, name, map[string]bool{}); back {
			t.Errorf("the imports of %s lead back to it", name)
		}
	}
}

func leadsTo(next map[string][]string, from, to string, seen map[string]bool) bool {
	for _, n := range next[from] {
		if n == to {
			return true
		}
		if !seen[n] {
			seen[n] = true
			if leadsTo(next, n, to, seen) {
				return true
			}
		}
	}
	return false
}

func readScripts(t *testing.T) map[string]string {
	t.Helper()
	sources := map[string]string{}
	here := os.DirFS(".")
	err := fs.WalkDir(here, "app", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".js" && name != "app/boot.js" {
			text, err := fs.ReadFile(here, name)
			sources[name] = string(text)
			return err
		}
		return err
	})
	if err != nil || len(sources) < 20 {
		t.Fatalf("%d scripts, %v", len(sources), err)
	}
	return sources
}

// TestNoHTML finds what would make markup of a text, or reach for another server.
func TestNoHTML(t *testing.T) {
	for name, text := range readScripts(t) {
		for _, bad := range []string{
			"innerHTML", "outerHTML", "insertAdjacentHTML", "dangerouslySetInnerHTML", "eval(", "new Function", "document.write",
			"fetch('http", `fetch("http`,
		} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %s", name, bad)
			}
		}
	}
}

// TestBundle checks that the bundle was built from the present scripts and, if the tools are installed, that a new
// build has the same bytes.
func TestBundle(t *testing.T) {
	sources := readScripts(t)
	for _, name := range []string{"app/boot.js", "vendor/core.js"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sources[name] = string(text)
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		sum.Write([]byte(name + "\x00" + sources[name]))
	}
	said, err := embedded.ReadFile("bundle/SOURCES")
	if want := hex.EncodeToString(sum.Sum(nil)) + "\n"; err != nil || string(said) != want {
		t.Fatalf("the scripts have changed since the bundle was made: run make web-bundle (%v)", err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node to make another bundle")
	}
	if _, err := os.Stat("../../deploy/tools/web/node_modules/esbuild"); err != nil {
		t.Skip(err)
	}
	fresh := t.TempDir()
	if out, err := exec.Command(node, "../../deploy/tools/web/bundle.mjs", fresh).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	names := map[string]bool{}
	for _, dir := range []fs.FS{os.DirFS(fresh), os.DirFS("bundle")} {
		entries, err := fs.ReadDir(dir, ".")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names[e.Name()] = true
		}
	}
	for name := range names {
		want, err := os.ReadFile(filepath.Join(fresh, name))
		have, _ := embedded.ReadFile("bundle/" + name)
		if err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s: %d bytes, and a new one has %d (%v)", name, len(have), len(want), err)
		}
	}
}

// TestScripts runs the tests of lib and stores.
func TestScripts(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node to run them")
	}
	if out, err := exec.Command(node, "--test", "test/").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestShorten checks that the styles that are served mean what the sources say.
func TestShorten(t *testing.T) {
	got := string(shorten([]byte("/* a */\na :is(b, c)::after { content: \"x y\"; width: calc(1px + 2px); }\n" +
		"@media (max-width: 9px) {\n  a { top: 0; }\n}\n")))
	want := `a :is(b,c)::after{content:"x y";width:calc(1px + 2px)}@media (max-width:9px){a{top:0}}`
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
