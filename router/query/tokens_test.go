package query

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/access/token"
)

// signedInWith returns the context of a user who has signed in with a token.
func signedInWith(id string, grants ...rights.Grant) context.Context {
	return access.With(context.Background(), &access.Caller{Sender: access.Sender{
		User: "bob", Grants: rights.NewIndex(grants, nil), Proof: "token", Token: id,
	}})
}

// TestWhoMayMakeTokens checks that nobody makes or renews a token with more rights than they may grant.
func TestWhoMayMakeTokens(t *testing.T) {
	cluster := func(s rights.Set) rights.Grant {
		return rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: s}
	}
	grantable := on(rights.Insert|rights.Create, "public", "*")
	grantable.Grantable = grantable.Privileges
	use := rights.Grant{Target: rights.Target{Kind: rights.Pipelines, Name: "web*"}, Privileges: rights.Use}
	root, plain, keeper := by("root", access.ReadWrite), with(on(rights.OfTables, "*", "*")), with(cluster(rights.Access))
	tenant := with(grantable, use)
	for _, tt := range []struct {
		who  context.Context
		sql  string
		code errs.Code
	}{
		{root, "CREATE TOKEN x FOR INGEST INTO logs", 0},
		{root, "CREATE TOKEN x FOR ALL ON CLUSTER", 0},
		{root, "CREATE TOKEN x FOR INGEST INTO PIPELINE p", errs.InvalidArguments},
		{root, "CREATE TOKEN x FOR SELECT ON CLUSTER", errs.InvalidArguments},
		{root, "CREATE TOKEN x FOR INGEST INTO svc_private.rejects", errs.InvalidArguments},
		{root, "CREATE TOKEN x FOR QUERY ON logs EXPIRES '2001-01-01'", errs.InvalidArguments},
		{root, "CREATE TOKEN x FOR QUERY ON logs EXPIRES IN 'soon'", errs.InvalidArguments},
		{root, "CREATE TOKEN x FOR QUERY ON logs EXPIRES IN '290y'", errs.InvalidArguments},
		{root, "CREATE TOKEN x FOR QUERY ON logs EXPIRES '3000-01-01'", errs.InvalidArguments},
		{root, "CREATE TOKEN x FOR INGEST INTO logs PIPELINE \"p_*\"", errs.InvalidArguments},
		{root, "CREATE TOKEN x FOR QUERY ON logs FROM 'here'", errs.InvalidArguments},
		{root, "CREATE TOKEN x FOR USER file", errs.InvalidArguments},
		{root, "ALTER TOKEN ship ROTATE OVERLAP '31d'", errs.InvalidArguments},
		{root, "ALTER TOKEN gone ROTATE", errs.InvalidArguments},
		{root, "ALTER TOKEN expired ROTATE", errs.InvalidArguments},
		{root, "ALTER TOKEN expired SET EXPIRES IN '90d'", 0},
		{root, "DROP TOKEN of_boss", 0},
		{plain, "CREATE TOKEN x FOR QUERY ON logs", errs.PermissionDenied},
		{plain, "CREATE TOKEN x FOR USER ann", 0},
		{plain, "CREATE TOKEN x FOR USER bob", errs.PermissionDenied},
		{plain, "ALTER TOKEN of_ann ROTATE", 0},
		{plain, "DROP TOKEN of_ann", 0},
		{plain, "DROP TOKEN ship", errs.InvalidArguments},
		{tenant, "CREATE TOKEN x FOR INGEST INTO public.web*", 0},
		{tenant, "CREATE TOKEN x FOR INGEST INTO public.web* PIPELINE web1", 0},
		{tenant, "CREATE TOKEN x FOR INGEST INTO public.web* PIPELINE svc_identity", 0},
		{tenant, "CREATE TOKEN x FOR INGEST INTO public.web* PIPELINE other", errs.PermissionDenied},
		{tenant, "CREATE TOKEN x FOR INGEST INTO shop.web", errs.PermissionDenied},
		{tenant, "CREATE TOKEN x FOR SELECT ON public.web", errs.PermissionDenied},
		{keeper, "CREATE TOKEN x FOR ALL ON *.*", 0},
		{keeper, "CREATE TOKEN x FOR OPERATE ON CLUSTER", errs.PermissionDenied},
		{keeper, "CREATE TOKEN x FOR USER bob", 0},
		{keeper, "CREATE TOKEN x FOR USER boss", errs.PermissionDenied},
		{keeper, "ALTER TOKEN of_boss ROTATE", errs.PermissionDenied},
		{keeper, "ALTER TOKEN of_boss SET EXPIRES NEVER", errs.PermissionDenied},
		{keeper, "DROP TOKEN of_boss", errs.PermissionDenied},
		{keeper, "DROP TOKEN ship", 0},
		// A stolen token cannot be used to create further tokens.
		{signedInWith("idB"), "CREATE TOKEN x FOR USER bob", errs.PermissionDenied},
		{signedInWith("idB"), "ALTER TOKEN of_bob ROTATE", errs.PermissionDenied},
		{signedInWith("idB", use), "CREATE TOKEN x FOR USE ON PIPELINE web", errs.PermissionDenied},
		{signedInWith("idB", cluster(rights.Access)), "CREATE TOKEN x FOR USER bob", 0},
	} {
		w := newWorld(t)
		_, err := w.run(tt.who, tt.sql)
		if errs.CodeOf(err) != tt.code || (err == nil) != (len(w.meta.proposed) == 1) {
			t.Errorf("%s as %s: %v, %d commands", tt.sql, access.From(tt.who).User, err, len(w.meta.proposed))
		}
	}
}

// TestSecretIsShownOnce checks that the answer has the secret, and the command only its hash.
func TestSecretIsShownOnce(t *testing.T) {
	for _, sql := range []string{
		"CREATE TOKEN x FOR INGEST INTO logs PIPELINE p FROM '192.0.2.9', '2001:db8::1/32' EXPIRES IN '1d' NOTE 'it''s'",
		"ALTER TOKEN ship ROTATE OVERLAP '1h'",
	} {
		w := newWorld(t)
		got, err := w.run(by("root", access.ReadWrite), sql, func(r *Request) { r.Texts = []string{sql} })
		if err != nil {
			t.Fatal(err)
		}
		i := strings.Index(got, "cw_")
		if i < 0 {
			t.Fatalf("no token in %s", got)
		}
		text := got[i:][:50]
		id, ok := token.Parse(text)
		change := w.meta.proposed[0].GetChangeAccess().Changes[0]
		hash := token.Hash(text)
		stored := change.GetCreateToken().GetToken()
		if !ok || strings.Contains(w.meta.proposed[0].String(), text[14:]) ||
			!bytes.Equal(hash[:], stored.GetHash()) && !bytes.Equal(hash[:], change.GetAlterToken().GetHash()) {
			t.Errorf("%s: %s, %v", sql, got, change)
		}
		if a := change.GetAlterToken(); a != nil {
			if a.Id != "AbCdEfGhIj" || a.OldUntilUnixNano == 0 {
				t.Error(a)
			}
			continue
		}
		if stored.Id != id || !stored.IngestOnly || len(stored.Grants) != 2 || stored.Note != "it's" ||
			strings.Join(stored.From, " ") != "192.0.2.9/32 2001:db8::/32" || stored.ExpiresUnixNano == 0 {
			t.Error(stored)
		}
	}
}

// TestDefaultExpiry checks that a token expires, unless it is said that it never does.
func TestDefaultExpiry(t *testing.T) {
	for sql, want := range map[string]time.Duration{
		"CREATE TOKEN x FOR QUERY ON logs": tokenLife, "CREATE TOKEN x FOR QUERY ON logs EXPIRES NEVER": 0,
	} {
		w := newWorld(t)
		if _, err := w.run(by("root", access.ReadWrite), sql); err != nil {
			t.Fatal(err)
		}
		c := w.meta.proposed[0]
		got := c.GetChangeAccess().Changes[0].GetCreateToken().Token.ExpiresUnixNano
		if want != 0 && got != c.TimeUnixNano+want.Nanoseconds() || want == 0 && got != 0 {
			t.Errorf("%s: %d", sql, got)
		}
	}
}

// TestShowTokens checks who sees which tokens, and that no hash is shown.
func TestShowTokens(t *testing.T) {
	keeper := with(rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Access})
	for who, want := range map[context.Context]string{
		by("root", access.ReadWrite): "of_ann of_bob of_boss ship expired", keeper: "of_ann of_bob of_boss ship expired",
		with(): "of_ann", signedInWith("AbCdEfGhIj"): "of_bob ship",
	} {
		got, err := newWorld(t).run(who, "SHOW TOKENS")
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range (&fakeUsers{}).StoredTokens() {
			if shown := strings.Contains(got, one.Name); shown != strings.Contains(want, one.Name) {
				t.Errorf("%s: %s is shown: %t", access.From(who).User, one.Name, shown)
			}
		}
	}
	got, err := newWorld(t).run(keeper, "SHOW TOKENS LIKE 'ship'")
	if err != nil || !strings.Contains(got, "QUERY ON public.logs") || strings.Contains(got, "of_") {
		t.Errorf("%s %v", got, err)
	}
	if _, err := newWorld(t).run(by("ship", access.WriteOnly), "SHOW TOKENS"); errs.CodeOf(err) != errs.PermissionDenied {
		t.Error(err)
	}
}

// TestScopes checks that scopes are shown as CREATE TOKEN writes them.
func TestScopes(t *testing.T) {
	for _, scope := range []string{
		"INGEST INTO public.logs", "QUERY ON *.*", "USER ann", "SELECT, INSERT ON public.logs, ALL ON CLUSTER",
	} {
		w := newWorld(t)
		if _, err := w.run(by("root", access.ReadWrite), "CREATE TOKEN x FOR "+scope); err != nil {
			t.Fatal(err)
		}
		if got, _ := describeScope(w.meta.proposed[0].GetChangeAccess().Changes[0].GetCreateToken().Token); got != scope {
			t.Errorf("%s, want %s", got, scope)
		}
	}
}

// TestOnlyByPipeline checks that a token for one pipeline cannot store rows without it.
func TestOnlyByPipeline(t *testing.T) {
	ctx := access.With(context.Background(), &access.Caller{Sender: access.Sender{
		User: "cw_x", Token: "x", IngestOnly: true, Fixed: access.Fixed{Pipeline: "p"},
		Grants: rights.NewIndex([]rights.Grant{on(rights.Insert, "public", "logs")}, nil),
	}})
	w := newWorld(t)
	if _, err := w.run(ctx, "INSERT INTO logs (ts) VALUES (1)"); errs.CodeOf(err) != errs.PermissionDenied ||
		w.writer.rounds > 0 {
		t.Error(err)
	}
	for _, sql := range []string{"SELECT 1", "CREATE TABLE n (ts TIMESTAMP TIME INDEX)", "SHOW TOKENS"} {
		if _, err := w.run(ctx, sql); errs.CodeOf(err) != errs.PermissionDenied {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, err := w.run(ctx, "SHOW GRANTS"); err != nil {
		t.Error(err)
	}
}
