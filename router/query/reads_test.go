package query

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/audit"
)

// TestReadsAreRecordedWhereTheDatabaseSaysSo runs SELECTs of two databases, one of which has the option audit.reads.
func TestReadsAreRecordedWhereTheDatabaseSaysSo(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, func(c *Config) {
		c.Changes = audit.New(slog.New(slog.NewJSONHandler(&log, nil)), nil)
	})
	w.meta.databases[1].Options["audit.reads"] = "true"
	w.shards.reads = []*shardpb.TableName{{Database: "shop", Name: "orders"}}
	const sql = "SELECT at FROM shop.orders"
	if _, err := w.run(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	lines := changeLines(t, &log)
	if len(lines) != 1 || lines[0]["action"] != "select" || lines[0]["object"] != "orders" ||
		lines[0]["outcome"] != "ok" || lines[0]["statement"] != sql {
		t.Errorf("a read: %v", lines)
	}
	log.Reset()
	other := &access.Caller{Sender: access.Sender{User: "ann", Grants: rights.NewIndex([]rights.Grant{{
		Target: rights.Target{Kind: rights.Tables, Database: "shop", Name: "orders"}, Privileges: rights.Insert,
	}}, nil)}}
	if _, err := w.run(access.With(t.Context(), other), sql); err == nil {
		t.Fatal("a user without the right reads")
	}
	lines = changeLines(t, &log)
	if len(lines) != 1 || lines[0]["outcome"] != "refused" || lines[0]["principal"] != "ann" {
		t.Errorf("a refused read: %v", lines)
	}
	log.Reset()
	w.shards.reads = []*shardpb.TableName{{Database: "public", Name: "logs"}}
	if _, err := w.run(t.Context(), "SELECT n FROM logs"); err != nil {
		t.Fatal(err)
	}
	if lines = changeLines(t, &log); len(lines) > 0 {
		t.Errorf("a read in a database without the option: %v", lines)
	}
}

// TestTablesForOtherReaders checks which databases and tables a caller finds who reads them by other means than
// statements, and that this is recorded where the database says so.
func TestTablesForOtherReaders(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, func(c *Config) {
		c.Changes = audit.New(slog.New(slog.NewJSONHandler(&log, nil)), nil)
	})
	w.meta.databases[1].Options["audit.reads"] = "true"
	as := func(privileges rights.Set, database, table string) context.Context {
		grant := rights.Grant{
			Target: rights.Target{Kind: rights.Tables, Database: database, Name: table}, Privileges: privileges,
		}
		return access.With(t.Context(), &access.Caller{
			Sender: access.Sender{User: "ann", Grants: rights.NewIndex([]rights.Grant{grant}, nil)},
		})
	}
	all := access.With(t.Context(), &access.Caller{Sender: access.Everybody()})
	for _, c := range []struct {
		name      string
		ctx       context.Context
		databases []string
		code      errs.Code // of Databases
		read      errs.Code // of TableRead of shop.orders
		outcome   any       // in the record; nil if there is none
	}{
		{"everybody", all, []string{"public", "shop"}, 0, 0, "ok"},
		{"reader of the table", as(rights.Select, "shop", "orders"), []string{"public", "shop"}, 0, 0, "ok"},
		{"reader of another table", as(rights.Select, "public", "logs"), []string{"public"}, 0, errs.DatabaseNotFound, nil},
		{"writer", as(rights.Insert, "shop", "orders"), nil, errs.PermissionDenied, errs.PermissionDenied, "refused"},
	} {
		log.Reset()
		got, err := w.Databases(c.ctx)
		if !slices.Equal(got, c.databases) || codeOf(err) != c.code {
			t.Errorf("%s: databases %v, %v", c.name, got, err)
		}
		table, err := w.TableRead(c.ctx, "shop", "orders", "GET /orders")
		if codeOf(err) != c.read || err == nil && table.Name != "orders" {
			t.Errorf("%s: %v", c.name, err)
		}
		lines := changeLines(t, &log)
		if c.outcome == nil && len(lines) > 0 || c.outcome != nil && (len(lines) != 1 || lines[0]["outcome"] != c.outcome ||
			lines[0]["statement"] != "GET /orders" || lines[0]["object"] != "orders") {
			t.Errorf("%s: recorded %v", c.name, lines)
		}
	}
}

// codeOf returns the code of an error; 0 if there is none.
func codeOf(err error) errs.Code {
	if err == nil {
		return errs.Success
	}
	return errs.From(err).Code
}

// TestOwnerCannotEndRecordsOfReads checks that audit.reads of a database can be set by whoever may alter it, and ended
// only with the privilege AUDIT.
func TestOwnerCannotEndRecordsOfReads(t *testing.T) {
	owner, auditor := on(rights.Alter, "shop", "*"), rights.Grant{
		Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Audit,
	}
	for _, tt := range []struct {
		sql           string
		owner, audits bool
	}{
		{"ALTER DATABASE shop SET 'audit.reads' = 'true'", true, true},
		{"ALTER DATABASE shop SET 'ttl' = '1d'", true, true},
		{"ALTER DATABASE shop SET 'audit.reads' = 'false'", false, true},
		{"ALTER DATABASE shop SET 'ttl' = '1d', 'audit.reads' = 'f'", false, true},
		{"ALTER DATABASE shop UNSET 'audit.reads'", false, true},
	} {
		for _, who := range []struct {
			ctx context.Context
			may bool
		}{{with(owner), tt.owner}, {with(owner, auditor), tt.audits}} {
			w := newWorld(t)
			_, err := w.run(who.ctx, tt.sql)
			if (err == nil) != who.may || err != nil && errs.CodeOf(err) != errs.PermissionDenied {
				t.Errorf("%s: %v, want %t", tt.sql, err, who.may)
			}
		}
	}
}
