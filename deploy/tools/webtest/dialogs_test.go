package webtest

import (
	"os"
	"path/filepath"
	"testing"
)

// noClipboard is a browser that has no clipboard API, as on plain HTTP from another machine. It notes what is copied.
const noClipboard = `Object.defineProperty(navigator, 'clipboard', {value: undefined}); window.copied = [];
	document.addEventListener('copy', (e) => copied.push(e.target.value ?? ''), true);`

// TestSecretIsNotClosed presses Escape in the dialog with the secret of a new token, which nobody can see again: it
// must stay until the secret is copied, or until the user says to close it.
func TestSecretIsNotClosed(t *testing.T) {
	s, password := startWithAdmin(t)
	b := openWith(t, watch+noClipboard, s.url+"/dashboard/settings")
	b.signIn("root", password)
	for _, name := range []string{"t1", "t2"} {
		b.click(`[data-ui=new-token]`)
		b.fill(`[data-ui=ask-name]`, name)
		b.fill(`[data-ui=ask-on]`, "public.app")
		b.click(`[data-ui=confirm]`)
		b.until(`document.activeElement.closest('dialog[open]')?.querySelector('[data-ui=secret]')`)
		b.keys("\u001b")
		b.until(`document.querySelector('[data-ui=secret-asks]')`)
		b.keys("\u001b")
		b.keys("\u001b")
		b.until(`document.querySelector('dialog[open] [data-ui=secret]')`)
		if name == "t1" {
			b.click(`[data-ui=secret-close]`)
		} else {
			b.clickByMouse(`[data-ui=secret-copy]`)
			b.until(`document.querySelector('[data-ui=toast]').textContent === 'Copied.'`)
			if got := eval[[]string](b, `copied`); len(got) != 1 ||
				got[0] != eval[string](b, `document.querySelector('[data-ui=secret]').textContent`) {
				t.Errorf("copied: %q", got)
			}
			b.keys("\u001b")
		}
		b.until(`!document.querySelector('dialog')`)
	}
}

// TestPasswordIsNotCopied gives a new user a password that is too short: the error must not offer the statement, which
// has the password, as a command. Other errors offer a command with the name of the user.
func TestPasswordIsNotCopied(t *testing.T) {
	s, password := startWithAdmin(t)
	b := openWith(t, watch+noClipboard, s.url+"/dashboard/settings")
	b.signIn("root", password)
	b.click(`[data-ui=new-user]`)
	b.fill(`[data-ui=ask-name]`, "bob")
	b.fill(`[data-ui=ask-password]`, "secret9")
	b.click(`[data-ui=confirm]`)
	b.until(`document.querySelector('dialog [data-ui=error]') && !document.querySelector('[data-ui=copy-curl]')`)
	b.keys("\u001b")
	b.click(`[data-ui=new-role]`)
	b.fill(`[data-ui=ask-name]`, "admin")
	b.click(`[data-ui=confirm]`)
	b.clickByMouse(`[data-ui=copy-curl]`)
	b.until(`copied.length === 1 && copied[0].includes('-u root:"$CORDWOOD_PASSWORD"') &&
		copied[0].includes('CREATE ROLE')`)
}

// TestAddNodeCommand checks that the command for another node has the flags by which this node checks users, and that
// the page says that other machines cannot reach an address of loopback.
func TestAddNodeCommand(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("boss:rw=correct horse battery\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, "--user-file", users, "--metrics-open=false")
	b := openAlone(t, s.url+"/dashboard/cluster")
	b.signIn("boss", "correct horse battery")
	b.click(`[data-ui=add-node]`)
	b.until(`((text) => text.includes('--auth=on') && text.includes('--metrics-open=false') &&
		text.includes('--user-file ' + ` + quote(users) + `))(
		document.querySelector('[data-ui=add-node-command]').textContent)`)
	b.until(`document.querySelector('[data-ui=seeds-local]').textContent.includes('127.0.0.1:')`)
	b.axe("add a node")
	b.shoot("add-node")
}

// TestReplayNames types a name with a space: the field must have what was typed, and the server refuses it.
func TestReplayNames(t *testing.T) {
	s := start(t)
	s.storePipeline("mine", pipelineText)
	s.send("mine", "app", "yesterday bad")
	b := open(t, s.url+"/dashboard/rejects")
	b.click(`[data-ui=replay]`)
	b.until(`document.querySelector('dialog[open]')`)
	eval[bool](b, `(document.querySelector('[data-ui=to-table]').focus(), true)`)
	b.keys("bad table")
	b.until(`document.querySelector('[data-ui=to-table]').value === 'bad table'`)
}

// TestFormSaysWhatIsMissing sends forms of Settings with values that are missing or wrong: the form must say which. A
// target that there is not is told before the statement runs. The grants of a user are shown below the user.
func TestFormSaysWhatIsMissing(t *testing.T) {
	s, password := startWithAdmin(t)
	s.ingest("app", logs(3)...)
	b := openAlone(t, s.url+"/dashboard/settings")
	b.signIn("root", password)
	b.until(`document.querySelector('[data-ui=user]')`)
	b.click(`[data-ui=new-user]`)
	b.click(`[data-ui=confirm]`)
	b.until(`document.querySelector('[data-ui=form-wrong]').textContent === 'Name: it is empty.' &&
		document.activeElement.matches('[data-ui=ask-name]')`)
	b.fill(`[data-ui=ask-name]`, "ann")
	b.until(`!document.querySelector('[data-ui=form-wrong]')`)
	b.fill(`[data-ui=ask-password]`, "a long password")
	b.click(`[data-ui=show-password]`)
	b.until(`document.querySelector('[data-ui=ask-password]').type === 'text' &&
		document.querySelector('.asked').textContent === 'CREATE USER "ann" PASSWORD \'…\''`)
	b.click(`[data-ui=confirm]`)
	b.click(`[data-ui=user][data-name=ann] [aria-label="Grants ann"]`)
	b.until(`document.querySelector('[data-name=ann] + .grants-of').textContent.includes('ann has no grants')`)
	b.click(`[data-ui=grant]`)
	b.fill(`[data-ui=ask-on]`, "appp")
	b.until(`document.querySelector('[data-ui=form-remark]').textContent === 'There is no table public.appp yet.'`)
	b.fill(`[data-ui=ask-on]`, "a b")
	b.click(`[data-ui=confirm]`)
	b.until(`document.querySelector('[data-ui=form-wrong]').textContent.includes('a name such as app.logs')`)
	b.axe("a form with a wrong value")
	b.fill(`[data-ui=ask-on]`, "app")
	b.until(`!document.querySelector('[data-ui=form-remark]')`)
}
