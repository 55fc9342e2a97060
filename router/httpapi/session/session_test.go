package session

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"
)

// fakeUsers has users with their stored passwords.
type fakeUsers map[string]string

func (f fakeUsers) Session(user string, check func([sha256.Size]byte) bool) (access.Sender, error) {
	stored, ok := f[user]
	if !ok || !check(sha256.Sum256([]byte(stored))) {
		return access.Sender{}, errors.New("no")
	}
	return access.Sender{User: user, Right: access.ReadOnly, Proof: "session"}, nil
}

// TokenSession knows the secrets of the token ID under the name "token ID", separated by blanks. Its tokens belong to
// ann and are valid only at home.
func (f fakeUsers) TokenSession(id string, from netip.Addr, check func([sha256.Size]byte) bool) (access.Sender, error) {
	for _, stored := range strings.Fields(f["token "+id]) {
		if check(sha256.Sum256([]byte(stored))) && from == home {
			return access.Sender{User: "ann", Proof: "token", Token: id}, nil
		}
	}
	return access.Sender{}, errors.New("no")
}

// Person knows people whose names begin with oidc:.
func (f fakeUsers) Person(name string, who *access.Person) (access.Sender, error) {
	switch {
	case f["out "+name] != "":
		return access.Sender{}, errs.New(errs.PermissionDenied, "no role")
	case !strings.HasPrefix(name, "oidc:"):
		return access.Sender{}, errors.New("no")
	}
	return access.Sender{User: name, Proof: "oidc", Person: who}, nil
}

var home = netip.MustParseAddr("192.0.2.1")

// place is a router with a clock that a test can set.
type place struct {
	*Manager
	users fakeUsers
	keys  [][]byte
	now   time.Time
	from  netip.Addr
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{
		users: fakeUsers{"ann": "x", "bo": "y"}, keys: [][]byte{[]byte("first")},
		now: time.Date(2026, 1, 30, 10, 0, 0, 0, time.UTC), from: home,
	}
	var err error
	p.Manager, err = New(Config{
		Users: p.users, Keys: func() [][]byte { return p.keys },
		Cluster: func() string { return "01M8EB8M12JFRQ58V5P35WVQN4" },
		Now:     func() time.Time { return p.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) begin(t *testing.T, user string) *http.Cookie {
	t.Helper()
	c, err := p.Begin(user, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// who returns the sender of a request with a cookie, and the renewed cookie.
func (p *place) who(c *http.Cookie) (string, *http.Cookie) {
	r := httptest.NewRequest(http.MethodPost, "/v1/sql", nil)
	r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	s, renewed, err := p.Authenticate(r, p.from, false)
	if err != nil {
		return "", nil
	}
	return s.User, renewed
}

func TestCookie(t *testing.T) {
	p := newPlace(t)
	c := p.begin(t, "ann")
	if c.Name != "cordwood_P35WVQN4" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure {
		t.Errorf("the cookie is %s", c)
	}
	if c, _ := p.Begin("ann", true); !c.Secure {
		t.Error("a cookie that was set over TLS is sent over plain HTTP")
	}
	if user, renewed := p.who(c); user != "ann" || renewed != nil {
		t.Errorf("the user is %q, renewed %v", user, renewed)
	}
	if other := p.begin(t, "bo"); other.Value == c.Value {
		t.Error("two users have the same token")
	}
	for i := range len(c.Value) {
		wrong := *c
		wrong.Value = c.Value[:i] + string('A'+(c.Value[i]+1)%26) + c.Value[i+1:]
		if user, _ := p.who(&wrong); user != "" && wrong.Value != c.Value {
			t.Fatalf("byte %d was changed, and the token is still valid for %q", i, user)
		}
	}
	if _, err := p.Begin("nobody", false); err == nil {
		t.Error("a session of nobody")
	}
}

// TestEnds checks that sessions end after a time, when the password changes, when the user is removed, and when the
// keys are replaced.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *place)
		alive  bool
	}{
		"soon":             {func(p *place) { p.now = p.now.Add(11 * time.Hour) }, true},
		"without use":      {func(p *place) { p.now = p.now.Add(12*time.Hour + time.Second) }, false},
		"the clock back":   {func(p *place) { p.now = p.now.Add(-time.Minute) }, true},
		"far back":         {func(p *place) { p.now = p.now.Add(-time.Hour) }, false},
		"another password": {func(p *place) { p.users["ann"] = "z" }, false},
		"removed":          {func(p *place) { delete(p.users, "ann") }, false},
		"a key before it":  {func(p *place) { p.keys = [][]byte{[]byte("second"), []byte("first")} }, true},
		"another key":      {func(p *place) { p.keys = [][]byte{[]byte("second")} }, false},
	} {
		p := newPlace(t)
		cookie := p.begin(t, "ann")
		c.change(p)
		user, renewed := p.who(cookie)
		if (user == "ann") != c.alive {
			t.Errorf("%s: the user is %q", name, user)
		}
		if again, _ := p.who(cookie); renewed != nil && again != "ann" {
			t.Errorf("%s: other requests lost their session", name)
		}
		if renewed != nil {
			if user, _ := p.who(renewed); user != "ann" {
				t.Errorf("%s: the user of the renewed session is %q", name, user)
			}
		}
	}
}

// TestTokenSession checks that a session of an access token ends when the token ends or loses its secret, is valid only
// at the addresses of the token, and survives a rotation while the former secret is valid.
func TestTokenSession(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *place)
		alive  bool
	}{
		"soon":            {func(p *place) { p.now = p.now.Add(11 * time.Hour) }, true},
		"without use":     {func(p *place) { p.now = p.now.Add(12*time.Hour + time.Second) }, false},
		"dropped":         {func(p *place) { delete(p.users, "token t1") }, false},
		"rotated":         {func(p *place) { p.users["token t1"] = "new s" }, true},
		"overlap passed":  {func(p *place) { p.users["token t1"] = "new" }, false},
		"another address": {func(p *place) { p.from = netip.MustParseAddr("192.0.2.2") }, false},
		"a key before it": {func(p *place) {
			p.keys, p.users["token t1"] = [][]byte{[]byte("second"), []byte("first")}, "new s"
		}, true},
		"a user of its name": {func(p *place) {
			p.users["t1"] = "s"
			delete(p.users, "token t1")
		}, false},
	} {
		p := newPlace(t)
		p.users["token t1"] = "s"
		cookie := p.BeginToken("t1", sha256.Sum256([]byte("s")), false)
		c.change(p)
		user, renewed := p.who(cookie)
		if (user == "ann") != c.alive {
			t.Errorf("%s: the user is %q", name, user)
		}
		if renewed != nil {
			if user, _ := p.who(renewed); user != "ann" {
				t.Errorf("%s: the user of the renewed session is %q", name, user)
			}
		}
	}
}

// TestMaxAge checks that a session that is used all the time ends after a week, even across a change of month.
func TestMaxAge(t *testing.T) {
	p := newPlace(t)
	c := p.begin(t, "ann")
	begin := p.now
	for p.now.Sub(begin) <= 7*24*time.Hour {
		user, renewed := p.who(c)
		if user != "ann" {
			t.Fatalf("it ended after %s", p.now.Sub(begin))
		}
		if renewed != nil {
			c = renewed
		}
		p.now = p.now.Add(time.Hour)
	}
	if user, _ := p.who(c); user != "" {
		t.Error("it did not end")
	}
}

// TestOrigins checks that pages of other origins cannot use the cookie.
func TestOrigins(t *testing.T) {
	p := newPlace(t)
	c := p.begin(t, "ann")
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for header, has := range map[string]bool{
			"": true, "Origin=http://example.com": true, "Origin=http://evil.test": false, "Sec-Fetch-Site=cross-site": false,
			"Sec-Fetch-Site=same-origin": true, "Origin=null": false,
		} {
			r := httptest.NewRequest(method, "http://example.com/v1/sql", nil)
			r.AddCookie(c)
			if name, value, ok := strings.Cut(header, "="); ok {
				r.Header.Set(name, value)
			}
			if p.Has(r) != has {
				t.Errorf("%s %s: the session counts: %v", method, header, !has)
			}
		}
	}
}

// TestForeignCookie checks that cookies of the same name that are not tokens do not hide the session's cookie.
func TestForeignCookie(t *testing.T) {
	p := newPlace(t)
	c := p.begin(t, "ann")
	r := httptest.NewRequest(http.MethodPost, "/v1/sql", nil)
	r.AddCookie(&http.Cookie{Name: c.Name, Value: "junk"})
	r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	if s, _, err := p.Authenticate(r, p.from, false); err != nil || s.User != "ann" {
		t.Errorf("behind another cookie the user is %q, %v", s.User, err)
	}
}

// TestPerson checks sessions of people: they have the groups of the sign-in, and end at a fixed time.
func TestPerson(t *testing.T) {
	p := newPlace(t)
	who := &access.Person{Groups: []string{"a", "b c"}, Until: p.now.Add(time.Hour)}
	c, err := p.BeginPerson("oidc:ann", who, true)
	if err != nil || c.MaxAge != 3600 || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode {
		t.Fatalf("%+v, %v", c, err)
	}
	get := func() (access.Sender, *http.Cookie, error) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		return p.Authenticate(r, p.from, true)
	}
	p.now = p.now.Add(30 * time.Minute)
	s, renewed, err := get()
	if err != nil || renewed != nil || s.User != "oidc:ann" || strings.Join(s.Person.Groups, "|") != "a|b c" ||
		s.Person.Until.Unix() != who.Until.Unix() {
		t.Errorf("%+v, %v, %v", s, renewed, err)
	}
	p.users["out oidc:ann"] = "x"
	if _, _, err := get(); errs.CodeOf(err) != errs.PermissionDenied {
		t.Errorf("without a role: %v", err)
	}
	long := &access.Person{Until: p.now.Add(100 * time.Hour)}
	if c, err := p.BeginPerson("oidc:ann", long, true); err != nil || c.MaxAge != 12*3600 {
		t.Errorf("a long session: %+v, %v", c, err)
	}
	for range 200 {
		who.Groups = append(who.Groups, strings.Repeat("g", 40))
	}
	if _, err := p.BeginPerson("oidc:ann", who, true); errs.CodeOf(err) != errs.PermissionDenied {
		t.Errorf("too many groups: %v", err)
	}
}

// TestSealedSignIn checks that what a sign-in needs is encrypted, cannot be changed, and expires.
func TestSealedSignIn(t *testing.T) {
	p := newPlace(t)
	c, err := p.SealSignIn([]byte("the secret text"), true)
	if err != nil || strings.Contains(c.Value, "secret") || c.SameSite != http.SameSiteLaxMode || !c.HttpOnly ||
		!c.Secure {
		t.Fatalf("%+v, %v", c, err)
	}
	open := func(value string) string {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(&http.Cookie{Name: c.Name, Value: value})
		text, remove, err := p.OpenSignIn(r, true)
		if remove.MaxAge >= 0 || remove.Name != c.Name || remove.Path != c.Path || (err == nil) != (text != nil) {
			t.Errorf("%+v, %q, %v", remove, text, err)
		}
		return string(text)
	}
	if got := open(c.Value); got != "the secret text" {
		t.Errorf("%q", got)
	}
	for i := range len(c.Value) {
		if wrong := c.Value[:i] + string('A'+(c.Value[i]+1)%26) + c.Value[i+1:]; wrong != c.Value && open(wrong) != "" {
			t.Fatalf("byte %d was changed, and the text is still accepted", i)
		}
	}
	session := p.begin(t, "ann")
	if open(session.Value) != "" || open("") != "" || open(strings.Repeat("A", 10_000)) != "" {
		t.Error("another cookie is accepted")
	}
	p.keys = [][]byte{[]byte("second"), []byte("first")}
	if open(c.Value) == "" {
		t.Error("a key before the present one is not accepted")
	}
	p.now = p.now.Add(signInTime + time.Second)
	if open(c.Value) != "" {
		t.Error("an old sign-in is accepted")
	}
	if _, err := p.SealSignIn(make([]byte, 5000), true); err == nil {
		t.Error("a text that does not fit into a cookie")
	}
}

func FuzzToken(f *testing.F) {
	t := &testing.T{}
	p := newPlace(t)
	c, _ := p.Begin("ann", false)
	f.Add(c.Value)
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		got, _, err := p.read(text)
		if err == nil && text != c.Value {
			t.Fatalf("%q is accepted as a token of %q", text, got.subject)
		}
	})
}
