package meta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

var someHash = bytes.Repeat([]byte{7}, 32)

// tokenChange creates a token with a right on a table, or with the rights of a user.
func tokenChange(name, user string, grants ...*metapb.AccessGrant) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_CreateToken{CreateToken: &metapb.CreateToken{
		Token: &metapb.AccessToken{Name: name, Id: "id" + name, Hash: someHash, User: user, Grants: grants},
	}}}
}

func alterToken(a *metapb.AlterToken) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_AlterToken{AlterToken: a}}
}

func dropToken(name string) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_DropToken{DropToken: &metapb.DropToken{Name: name}}}
}

func touchToken(name, id string, at int64) *metapb.Command {
	return &metapb.Command{Op: &metapb.Command_TouchTokens{TouchTokens: &metapb.TouchTokens{
		Uses: []*metapb.TokenUse{{Name: name, Id: id, UsedUnixNano: at, Address: "192.0.2.1"}},
	}}}
}

func dropDatabase(name string) *metapb.Command {
	return &metapb.Command{Op: &metapb.Command_DropDatabase{DropDatabase: &metapb.DropDatabase{Name: name}}}
}

// optionFrom revokes the grant option with CASCADE.
func optionFrom(g *metapb.AccessGrant, names ...string) *metapb.AccessChange {
	c := revokeFrom(g, true, names...)
	c.GetRevoke().OptionOnly = true
	return c
}

// createAdmin creates an administrator.
func createAdmin(name string) *metapb.Command {
	return accessCommand("r", createOne(name, false), roleTo(rights.AdminRole, name))
}

// TestTokens makes changes of tokens, and checks which are refused and which tokens are left.
func TestTokens(t *testing.T) {
	onTable := accessGrant(rights.Insert, 0, "web", "t")
	usePipeline := &metapb.AccessGrant{Kind: uint32(rights.Pipelines), Name: "p", Privileges: uint32(rights.Use)}
	bounded := tokenChange("b", "", onTable)
	bounded.GetCreateToken().MostOfCreator = 1
	badHash := tokenChange("b", "", onTable)
	badHash.GetCreateToken().Token.Hash = []byte("short")
	badRange := tokenChange("b", "", onTable)
	badRange.GetCreateToken().Token.From = []string{"192.0.2.1"}
	var many []*metapb.AccessChange
	for i := range catalog.MaxTokensOfUser {
		many = append(many, tokenChange(fmt.Sprintf("t%d", i), "a"))
	}
	user := accessCommand("r", createOne("a", false))
	for name, tt := range map[string]struct {
		steps []*metapb.Command
		fault string // of the last step
		left  string
	}{
		"a scope": {[]*metapb.Command{accessCommand("r", tokenChange("x", "", onTable))}, "", "x"},
		"a name twice": {[]*metapb.Command{
			accessCommand("r", tokenChange("x", "", onTable)), accessCommand("r", tokenChange("x", "", onTable)),
		}, `There is a token "x" already`, "x"},
		"all or nothing": {[]*metapb.Command{
			accessCommand("r", tokenChange("x", "", onTable), dropToken("y")),
		}, `There is no token "y"`, ""},
		"an unknown user": {[]*metapb.Command{accessCommand("r", tokenChange("x", "a"))}, `There is no user "a"`, ""},
		"a role": {[]*metapb.Command{
			accessCommand("r", createOne("a", true), tokenChange("x", "a")),
		}, `There is no user "a"`, ""},
		"a user of the same command": {[]*metapb.Command{
			accessCommand("r", createOne("a", false), tokenChange("x", "a")),
		}, "", "x"},
		"the user is dropped": {[]*metapb.Command{
			user, accessCommand("r", tokenChange("x", "a"), tokenChange("y", "", onTable)),
			accessCommand("r", dropOne("a", false)),
		}, "", "y"},
		"the user is dropped in the same command": {[]*metapb.Command{
			user, accessCommand("r", tokenChange("x", "a"), dropOne("a", false)),
		}, "", ""},
		"too many of a user": {[]*metapb.Command{
			user, accessCommand("r", many...), accessCommand("r", tokenChange("x", "a")),
		}, "a has 100 tokens, the maximum", strings.TrimSpace(strings.Repeat("t ", catalog.MaxTokensOfUser))},
		"too many of a creator": {[]*metapb.Command{
			accessCommand("r", tokenChange("x", "", onTable)), accessCommand("s", bounded),
			accessCommand("r", dropToken("b")), accessCommand("r", bounded),
		}, "r has created 1 tokens, the maximum", "x"},
		"a scope and a user": {[]*metapb.Command{
			user, accessCommand("r", tokenChange("x", "a", onTable)),
		}, "either a scope or a user", ""},
		"no rights": {[]*metapb.Command{accessCommand("r", tokenChange("x", ""))}, "either a scope or a user", ""},
		"the grant option": {[]*metapb.Command{
			accessCommand("r", tokenChange("x", "", accessGrant(rights.Insert, rights.Insert, "d", "t"))),
		}, "cannot have the grant option", ""},
		"a bad hash":  {[]*metapb.Command{accessCommand("r", badHash)}, "the id or the hash is not valid", ""},
		"a bad range": {[]*metapb.Command{accessCommand("r", badRange)}, "write address ranges", ""},
		"the database is dropped": {[]*metapb.Command{
			accessCommand("r", tokenChange("x", "", onTable, onTable, usePipeline),
				tokenChange("y", "", accessGrant(rights.Insert, 0, "web*", "t")),
				tokenChange("z", "", onTable, onCluster(rights.Monitor))),
			dropDatabase("web"),
		}, "", "y z"},
		"the creator's right is revoked": {[]*metapb.Command{
			user, accessCommand("r", grantTo(accessGrant(rights.Insert, rights.Insert, "web", "*"), "a")),
			accessCommand("a", tokenChange("x", "", onTable), tokenChange("own", "a")),
			accessCommand("r", revokeFrom(accessGrant(rights.Insert, 0, "web", "*"), false, "a")),
		}, "a has created the token x with this privilege: use CASCADE", "own x"},
		"the creator's right is revoked with CASCADE": {[]*metapb.Command{
			user, accessCommand("r", grantTo(accessGrant(rights.Insert, rights.Insert, "web", "*"), "a")),
			accessCommand("a", tokenChange("x", "", onTable), tokenChange("own", "a")),
			accessCommand("r", tokenChange("y", "", onTable)),
			accessCommand("r", revokeFrom(accessGrant(rights.Insert, 0, "web", "*"), true, "a")),
		}, "", "own y"},
		"the grant option is revoked with CASCADE": {[]*metapb.Command{
			user, accessCommand("r", grantTo(accessGrant(rights.Insert, rights.Insert, "web", "*"), "a")),
			accessCommand("a", tokenChange("x", "", onTable)),
			accessCommand("r", optionFrom(accessGrant(rights.Insert, 0, "web", "*"), "a")),
		}, "", ""},
		"another right of the creator is revoked": {[]*metapb.Command{
			user, accessCommand("r", grantTo(accessGrant(rights.Insert|rights.Drop, rights.Insert, "web", "*"), "a")),
			accessCommand("a", tokenChange("x", "", onTable)),
			accessCommand("r", revokeFrom(accessGrant(rights.Drop, 0, "web", "*"), false, "a")),
		}, "", "x"},
		"the use of a pipeline is revoked": {[]*metapb.Command{
			user, accessCommand("r", grantTo(accessGrant(rights.Insert, rights.Insert, "web", "*"), "a"),
				grantTo(usePipeline, "a")),
			accessCommand("a", tokenChange("x", "", onTable, usePipeline), tokenChange("y", "", onTable)),
			accessCommand("r", revokeFrom(usePipeline, true, "a")),
		}, "", "y"},
		"the creator loses a role": {[]*metapb.Command{
			user, createAdmin("b"), accessCommand("b", createOne("team", true), roleTo("team", "a"),
				grantTo(onCluster(rights.Access), "team")),
			accessCommand("a", tokenChange("x", "", onTable), tokenChange("of_b", "b")),
			accessCommand("b", roleFrom("team", "a")),
		}, "", ""},
		"the creator's grants lose their maker": {[]*metapb.Command{
			accessCommand("r", createOne("a", false), createOne("b", false),
				grantTo(accessGrant(rights.Insert, rights.Insert, "web", "*"), "a")),
			accessCommand("a", grantTo(accessGrant(rights.Insert, rights.Insert, "web", "*"), "b")),
			accessCommand("b", tokenChange("x", "", onTable)),
			accessCommand("r", revokeFrom(accessGrant(rights.Insert, 0, "web", "*"), true, "a")),
		}, "", ""},
		"the creator is dropped": {[]*metapb.Command{
			user, accessCommand("r", grantTo(accessGrant(rights.Insert, rights.Insert, "web", "*"), "a")),
			accessCommand("a", tokenChange("x", "", onTable)), accessCommand("r", dropOne("a", false)),
		}, "", "x"},
		"an older id": {[]*metapb.Command{
			accessCommand("r", tokenChange("x", "", onTable)),
			accessCommand("r", alterToken(&metapb.AlterToken{Name: "x", Id: "other", Note: proto.String("n")})),
		}, "was replaced meanwhile", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t)
			r.do("bootstrap c1 shards=1")
			r.do("create-db web")
			for i, cmd := range tt.steps {
				result := r.proposed(cmd, int64(i+1))
				last := i == len(tt.steps)-1
				if !last && result.ErrorCode != 0 || last && (result.ErrorCode != 0) != (tt.fault != "") ||
					last && !strings.Contains(result.ErrorMessage, tt.fault) {
					t.Errorf("step %d: %d %s", i, result.ErrorCode, result.ErrorMessage)
				}
			}
			var left []string
			for _, one := range r.tokens() {
				left = append(left, strings.TrimRight(one.Name, "0123456789"))
			}
			if got := strings.Join(left, " "); got != tt.left {
				t.Errorf("%q are left, want %q", got, tt.left)
			}
		})
	}
}

// tokens lists the stored tokens, and checks that the totals and the lists by user, creator and database fit them.
func (r *runner) tokens() (all []*metapb.AccessToken) {
	r.t.Helper()
	err := r.machine.catalog.View(func(tx *catalog.Tx) (err error) {
		all, err = tx.Tokens.All()
		size := 0
		for _, one := range all {
			size += proto.Size(one)
			if one.User != "" && !slices.Contains(tx.Tokens.OfUser(one.User), one.Name) ||
				!slices.Contains(tx.Tokens.OfCreator(one.CreatedBy), one.Name) {
				r.t.Errorf("%s is not in the lists of its user and creator", one.Name)
			}
		}
		if got := tx.Tokens.Totals(); got.Count != uint64(len(all)) || got.Bytes != uint64(size) {
			r.t.Errorf("the totals are %v, and there are %d tokens of %d bytes", got, len(all), size)
		}
		for _, name := range slices.Concat(tx.Tokens.OfUser("a"), tx.Tokens.OfCreator("r"), tx.Tokens.OfDatabase("web")) {
			if one, err := tx.Tokens.Get(name); one == nil || err != nil {
				r.t.Errorf("a list has the token %s, which does not exist", name)
			}
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// TestBytesOfCreator checks that the tokens of a creator without ACCESS are limited in bytes, also within one command,
// and that the creator can still rotate and drop them.
func TestBytesOfCreator(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	large := func(name string) *metapb.AccessChange {
		var grants []*metapb.AccessGrant
		for range 100 {
			grants = append(grants, accessGrant(rights.Select, 0, "web", strings.Repeat("x", 500)+"*"))
		}
		c := tokenChange(name, "", grants...)
		c.GetCreateToken().MostOfCreator = 1000
		return c
	}
	made := 0
	for ; made < 100; made++ {
		if r.proposed(accessCommand("ann", large(fmt.Sprint("t", made))), int64(made+1)).ErrorCode != 0 {
			break
		}
	}
	if made == 0 || made > catalog.MaxTokenBytesOfCreator/50_000 {
		t.Fatalf("%d tokens of 50 kB were created", made)
	}
	both := []*metapb.AccessChange{large("a")}
	for i := range made {
		both = append(both, large(fmt.Sprint("b", i)))
	}
	for i, tt := range []struct {
		cmd     *metapb.Command
		refused bool
	}{
		{accessCommand("bob", both...), true},
		{accessCommand("ann", alterToken(&metapb.AlterToken{Name: "t0", Hash: bytes.Repeat([]byte{9}, 32)})), false},
		{accessCommand("ann", dropToken("t0"), large("again")), true}, // it is counted until the command has ended
		{accessCommand("ann", dropToken("t0")), false},
		{accessCommand("ann", large("again")), false},
	} {
		if result := r.proposed(tt.cmd, int64(1000+i)); (result.ErrorCode != 0) != tt.refused {
			t.Errorf("step %d: %d %s", i, result.ErrorCode, result.ErrorMessage)
		}
	}
}

// TestRotatedTokens checks a rotation, and the record of uses.
func TestRotatedTokens(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	other := bytes.Repeat([]byte{8}, 32)
	for i, cmd := range []*metapb.Command{
		accessCommand("r", tokenChange("x", "", accessGrant(rights.Insert, 0, "web", "t"))),
		accessCommand("r", alterToken(&metapb.AlterToken{
			Name: "x", Hash: other, OldUntilUnixNano: 50, ExpiresUnixNano: proto.Int64(90), Note: proto.String("n"),
			SetFrom: true, From: []string{"192.0.2.0/24"},
		})),
		touchToken("x", "idx", 30), touchToken("x", "idx", 20), touchToken("x", "another", 70), touchToken("y", "idy", 70),
	} {
		if result := r.proposed(cmd, int64(i+1)); result.ErrorCode != 0 {
			t.Fatalf("step %d: %s", i, result.ErrorMessage)
		}
	}
	all := r.tokens()
	if len(all) != 1 {
		t.Fatal(all)
	}
	one := all[0]
	if !bytes.Equal(one.Hash, other) || !bytes.Equal(one.OldHash, someHash) || one.OldUntilUnixNano != 50 ||
		one.ExpiresUnixNano != 90 || one.Note != "n" || one.UsedUnixNano != 30 || one.UsedAddress != "192.0.2.1" ||
		one.CreatedBy != "r" || len(one.From) != 1 {
		t.Error(one)
	}
}

// TestWatchOfTokens checks that a watch gets tokens only if it asked for them.
func TestWatchOfTokens(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	create := accessCommand("r", tokenChange("x", "", accessGrant(rights.Insert, 0, "web", "t")))
	if result := r.proposed(create, 1); result.ErrorCode != 0 {
		t.Fatal(result.ErrorMessage)
	}
	enough := errors.New("enough")
	found := 0
	err := r.machine.watch(context.Background(), func(w *metapb.WatchResponse) error {
		found += len(w.Tokens)
		if without := withoutAccess(w); len(without.Tokens) > 0 {
			t.Error("a watch without users has tokens")
		}
		if !w.Partial {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || found != 1 {
		t.Errorf("%d tokens, %v", found, err)
	}
}
