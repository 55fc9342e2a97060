package webtest

import (
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"
)

// expect runs a statement as a user, and checks the status of the answer.
func (s *server) expect(sql, user, password string, status int) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.url+"/v1/sql?sql="+url.QueryEscape(sql), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.SetBasicAuth(user, password)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != status {
		text, _ := io.ReadAll(resp.Body)
		s.t.Errorf("%s as %q: %s: %s", sql, user, resp.Status, text)
	}
}

// signedInByToken returns a tab of its own browser context, in which the page was given a wrong token and then the
// right one.
func (s *server) signedInByToken(secret string) *tab {
	s.t.Helper()
	b := openAlone(s.t, s.url+"/dashboard/explore?t=app&q=failed")
	b.click(`[data-ui=login-way]`)
	last := byte('A')
	if secret[len(secret)-1] == last {
		last = 'B'
	}
	b.fill(`[data-ui=login-token]`, secret[:len(secret)-1]+string(last))
	b.click(`[data-ui=login]`)
	b.until(`document.querySelector('.signin .wrong').textContent.includes('changed or cut')`)
	b.shoot("signin-token")
	b.fill(`[data-ui=login-token]`, secret)
	b.click(`[data-ui=login]`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('2 rows')`)
	b.until(`document.querySelector('[data-ui=nav-settings]').textContent.includes('` + secret[:13] + `')`)
	return b
}

// TestAccess signs in as the administrator, and manages a user, a grant and a token in Settings. The user and the token
// must then be able to do what they were given, and nothing after they are dropped.
func TestAccess(t *testing.T) {
	s, password := startWithAdmin(t)
	s.ingest("app", logs(20)...)
	b := open(t, s.url+"/dashboard/pipelines")
	b.signIn("root", password)
	b.until(`document.querySelector('[data-ui=new-pipeline]')`) // by ALL, which includes WRITE
	b.do(chromedp.Navigate(s.url + "/dashboard/settings"))
	b.until(`document.querySelector('[data-ui=own-grants]').textContent.includes('ALL ON PIPELINE *')`)
	fill := func(name, value string) {
		t.Helper()
		b.until(`document.querySelector('[data-ui=ask-` + name + `]')`)
		b.fill(`[data-ui=ask-`+name+`]`, value)
	}
	confirm := func(name string) {
		t.Helper()
		if name != "" {
			b.fill(`[data-ui=confirm-word]`, name)
		}
		b.click(`dialog [data-ui=confirm]`)
		b.until(`!document.querySelector('dialog.sheet [data-ui=confirm]')`)
	}

	b.click(`[data-ui=new-user]`)
	fill("name", "ann")
	fill("password", "a long password")
	b.until(`document.querySelector('.asked').textContent === 'CREATE USER "ann" PASSWORD \'…\''`)
	confirm("")
	b.until(`document.querySelector('[data-ui=user][data-name=ann]')`)
	s.expect("SELECT count(*) FROM app", "ann", "a long password", http.StatusBadRequest) // as if there were no table

	b.click(`[data-ui=user][data-name=ann] [aria-expanded]`)
	b.click(`[data-ui=grant]`)
	fill("on", "public.app")
	confirm("")
	b.until(`document.querySelector('[data-ui=granted]').textContent.includes('GRANT SELECT ON public.app TO ann')`)
	s.expect("SELECT count(*) FROM app", "ann", "a long password", http.StatusOK)
	b.axe("users")
	b.click(`[data-ui=granted] button`)
	confirm("")
	b.until(`!document.querySelector('[data-ui=granted]')`)
	s.expect("SELECT count(*) FROM app", "ann", "a long password", http.StatusBadRequest)

	b.click(`[data-ui=new-token]`)
	b.until(`document.querySelector('dialog [data-ui=ask-scope]')`)
	b.axe("new token")
	fill("name", "reader-1")
	eval[bool](b, `(() => { const e = document.querySelector('[data-ui=ask-scope]'); e.value = 'query';
		e.dispatchEvent(new Event('change', {bubbles: true})); return true })()`)
	fill("on", "public.app")
	confirm("")
	b.until(`document.querySelector('[data-ui=secret]').textContent.startsWith('cw_')`)
	secret := eval[string](b, `document.querySelector('[data-ui=secret]').textContent`)
	b.axe("secret of a token")
	b.click(`[data-ui=secret-done]`)
	b.click(`[data-ui=secret-close]`) // it was not copied
	b.until(`document.querySelector('[data-ui=token][data-name="reader-1"]')`)
	s.expect("SELECT count(*) FROM app", "", secret, http.StatusOK)
	session := s.signedInByToken(secret)
	b.click(`[data-ui=token][data-name="reader-1"] button:last-child`)
	confirm("reader-1")
	b.until(`!document.querySelector('[data-ui=token]')`)
	s.expect("SELECT count(*) FROM app", "", secret, http.StatusUnauthorized)
	session.search("served")
	session.until(`document.querySelector('[data-ui=login]')`)

	b.do(chromedp.EmulateViewport(390, 844))
	b.until(`document.documentElement.scrollWidth <= innerWidth`)
}

// TestSignInByProvider checks that the form leads to the OpenID Connect provider, and names the page to come back to.
func TestSignInByProvider(t *testing.T) {
	s := start(t, "--oidc-issuer", "http://"+freeAddress(t), "--oidc-client-id", "cordwood")
	b := openAlone(t, s.url+"/dashboard/sql?q=SELECT+1")
	b.until(`document.querySelector('dialog.signin [data-ui=login-oidc]')`)
	want := s.url + "/v1/session/oidc/login?to=%2Fdashboard%2Fsql%3Fq%3DSELECT%2B1"
	if got := eval[string](b, `document.querySelector('[data-ui=login-oidc]').href`); got != want {
		t.Errorf("the link is %s, want %s", got, want)
	}
	b.axe("sign-in by a provider")
}
