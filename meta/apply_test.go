package meta

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/meta/catalog"
)

// TestApply runs steps of the form "command => answer". A step without an arrow must succeed.
func TestApply(t *testing.T) {
	const public = "bootstrap c1 shards=1"
	tests := []struct {
		name  string
		steps []string
	}{
		{"before the bootstrap", []string{
			"ensure t time:ts9! => 1006 ensure_schema: the cluster is not bootstrapped yet",
			"node n1 => 1006 register_node: the cluster is not bootstrapped yet",
		}},
		{"bootstrap", []string{
			"bootstrap c1 shards=0 => 1004 Bootstrap with 0 shards: 1 to 256 are possible",
			"bootstrap c1 shards=2 => cluster c1",
			"bootstrap c2 shards=9 => cluster c1",
			"create t time:ts3! => t=1 v1 @2 time:timestampmillisecond/1!",
		}},
		{"nodes and sessions", []string{
			public,
			"node n1 version=1 => cluster c1",
			"node n1 version=2 => cluster c1",
			"session n1 => session 1",
			"session n1 => session 2",
		}},
		{"databases", []string{
			public,
			"create-db public => 4011 Database `public` already exists",
			"create-db web ttl=7d",
			"create-db web => 4011 Database `web` already exists",
			"create-db web if-not-exists",
			"create-db web2 ttl=soon => 1004 …",
			"create-db web2 ttl=instant => 1004 …",
			"create-db web2 append_mode=true => 1004 Unknown option `append_mode` of database `web2`; known are ttl, " +
				"audit.reads and the quotas",
			"create-db 9a => 1004 …",
			"create-db information_schema => 1004 Database `information_schema` is reserved for the server and " +
				"cannot be changed",
			"create-db svc_private => 1004 …",
			"drop-db svc_private => 1004 …",
			"drop-db public => 1004 Database `public` is the default database and cannot be dropped; drop its tables",
			"drop-db nope => 4004 Database `nope` not found",
			"drop-db nope if-exists",
			"alter-db web ttl=30d",
			"alter-db web ttl=30d",
			"alter-db web ttl=soon => 1004 …",
			"alter-db web ttl=instant => 1004 …",
			"alter-db web append_mode=true => 1004 Unknown option `append_mode` of database `web`; known are ttl, audit.reads " +
				"and the quotas",
			"alter-db web comment => 1004 Unknown option `comment` of database `web`; known are ttl, audit.reads " +
				"and the quotas",
			"alter-db web ttl",
			"alter-db nope ttl=1d => 4004 Database `nope` not found",
			"alter-db svc_private ttl=1d => 1004 …",
			"alter-db public ttl=1d",
			"ensure web.a time:ts9! | web.b time:ts9!",
			"drop-db web => 1004 Database `web` has tables; drop them first, or use DROP DATABASE web CASCADE",
			"drop-db web cascade => dropped [1 2]",
			"create-db web",
			"ensure web.a time:ts9! => web.a=3 v1 @1 time:timestampnanosecond/1! append_mode=true",
		}},
		{"quotas", []string{
			public, "create-db web", "create-db other",
			"create-db web3 quota.tables=1 => 1004 Database `web3` cannot be created with option `quota.tables`; set quotas " +
				"of a database that exists, with ALTER DATABASE",
			"alter-db web quota.tables=-1 => 1004 …",
			"alter-db web quota.tables=1000000001 => 1004 …",
			"alter-db web quota.tabels=1 => 1004 Unknown quota \"quota.tabels\", …",
			"alter-db web quota.tabels => 1004 …",
			"alter-db svc_private quota.tables=1 => 1004 …",
			"alter-db web quota.tables=02 quota.columns=3",
			"ensure web.a time:ts9!",
			"ensure web.b time:ts9! | web.c time:ts9! => 6001 Table `web.c` cannot be created: database `web` has used up its " +
				"quota of 2 tables (quota.tables); drop tables, or ask an operator for a higher quota",
			"ensure other.a time:ts9! | other.b time:ts9! | other.c time:ts9! => other.a=2 v1 @1 time:timestampnanosecond/1! " +
				"append_mode=true; other.b=3 v1 @1 time:timestampnanosecond/1! append_mode=true; other.c=4 v1 @1 " +
				"time:timestampnanosecond/1! append_mode=true",
			"create web.b time:ts9! x:int64 y:int64 z:int64 => 6001 Table `web.b` would have 4 columns, and the quota of its " +
				"database is 3 for each table (quota.columns); send fewer fields, or ask an operator for a higher quota",
			"create web.b time:ts9! x:int64 y:int64",
			"create web.c time:ts9! => 6001 …",
			"truncate web.b",
			"add-column web.b z:int64 => 6001 …",
			"ensure web.a x:int64 y:int64 z:int64 => 6001 …",
			"ensure web.a x:int64 y:int64",
			"alter-db web quota.columns=1", // what exists remains
			"ensure web.a time:ts9! x:int64",
			"ensure web.a z:int64 => 6001 …",
			"drop web.b",
			"ensure web.b time:ts9!",
			"alter-db web quota.tables quota.columns",
			"ensure web.c time:ts9! x:int64 y:int64 z:int64",
			"alter-db other quota.tables=0",
			"ensure other.d time:ts9! => 6001 …",
		}},
		{"databases whose names begin alike", []string{
			public, "create-db web", "create-db web2",
			"ensure web2.a time:ts9!",
			"drop-db web cascade => ",
			"drop web2.a => dropped [1]",
		}},
		{"ensure creates", []string{
			public,
			"ensure t time:ts9! host:string# n:int64 ttl=1d => t=1 v1 @1 time:timestampnanosecond/1! host:string/2# " +
				"n:int64/3 append_mode=true ttl=1day",
			"ensure t time:ts9! ttl=9d => t=1 v1 @1 time:timestampnanosecond/1! host:string/2# n:int64/3 " +
				"append_mode=true ttl=1day",
			"ensure u time:ts9! append_mode=false => u=2 v1 @1 time:timestampnanosecond/1! append_mode=false",
			"ensure v time:ts9! merge_mode=last_non_null => v=3 v1 @1 time:timestampnanosecond/1! append_mode=false " +
				"merge_mode=last_non_null",
			"ensure w time:ts9! append_mode=true merge_mode=last_non_null => 1004 …",
			"ensure w time:ts9! ttl=soon => 1004 …",
			"ensure w n:int64 => 1004 Table `w` has no time index; exactly one timestamp column must be the time index",
			"ensure w time:int64! => 1004 Column `time` is the time index but has type Int64; a timestamp type is needed",
			"ensure w time:ts9! t2:ts9! => 1004 Table `w` has two time indexes, `time` and `t2`; exactly one is needed",
			"ensure w time:ts9! a:string a:string => 1004 Column `a` of table `w` is defined twice",
			"ensure w time:ts9! __sequence:string => 1004 …",
			"ensure w time:ts9! x:nothing => 1004 …",
			"ensure 9w time:ts9! => 1004 …",
			"ensure nope.t time:ts9! => 4004 Database `nope` not found",
			"ensure svc_private.t time:ts9! => 1004 Database `svc_private` is reserved for the server and cannot be changed",
		}},
		{"ensure adds", []string{
			public,
			"ensure t time:ts9! a:string => t=1 v1 @1 time:timestampnanosecond/1! a:string/2 append_mode=true",
			"ensure t time:ts9! b:int64* k:string# => t=1 v2 @1 time:timestampnanosecond/1! a:string/2 b:int64/3 " +
				"k:string/4# append_mode=true",
			"ensure t b:int64 c:bool => t=1 v3 @1 time:timestampnanosecond/1! a:string/2 b:int64/3 k:string/4# " +
				"c:boolean/5 append_mode=true",
		}},
		{"ensure refuses conflicts and changes nothing", []string{
			public,
			"ensure t time:ts9! a:string k:string#",
			"ensure t time:ts9! a:int64 z:bool => 1004 Column type or semantic mismatch, column `a` of table `t`: " +
				"expected type String, given Int64 [1 conflicts]",
			"ensure t time:ts9! a:string# => 1004 Column type or semantic mismatch, column `a` of table `t`: " +
				"expected semantic type FIELD, given TAG [1 conflicts]",
			"ensure t ts:ts9! => 1004 Column type or semantic mismatch, column `ts` of table `t`: the table's time " +
				"index is `time`, a second time index is not possible [1 conflicts]",
			"ensure t time:ts3! => 1004 Column type or semantic mismatch, column `time` of table `t`: expected type " +
				"TimestampNanosecond, given TimestampMillisecond [1 conflicts]",
			"ensure new time:ts9! | t time:ts9! a:int64 k:string => 1004 Column type or semantic mismatch, column " +
				"`a` of table `t`: expected type String, given Int64 (and 1 more) [2 conflicts]",
			"ensure t time:ts9! => t=1 v1 @1 time:timestampnanosecond/1! a:string/2 k:string/3# append_mode=true",
			"drop new => 4001 Table `new` not found",
			"ensure new time:ts9! => new=2 v1 @1 time:timestampnanosecond/1! append_mode=true",
		}},
		{"ensure of one table twice", []string{
			public,
			"ensure t time:ts9! a:string | t time:ts9! b:string => " +
				"t=1 v1 @1 time:timestampnanosecond/1! a:string/2 b:string/3 append_mode=true; t=1 v1 @1 " +
				"time:timestampnanosecond/1! a:string/2 b:string/3 append_mode=true",
			"ensure u time:ts9! a:string | u time:ts9! a:int64 => 1004 …",
			"ensure t time:ts9! c:string | t time:ts9! d:string | t time:ts9! => …v2 …v2 …v2 …",
		}},
		{"ensure without creating", []string{
			public,
			"ensure x time:ts9! no-create => 1004 Table `x` does not exist, and `auto_create_table` hint is disabled",
			"ensure x time:ts9!",
			"ensure x time:ts9! no-create => x=1 …",
			"ensure x time:ts9! c:string no-create => 1004 Column `c` of table `x` does not exist, and " +
				"`auto_create_table` hint is disabled",
		}},
		{"placement", []string{
			"bootstrap c1 shards=3",
			"ensure a time:ts9! | b time:ts9! | c time:ts9! => …@2 …@1 …@3 …",
			"drop b => dropped [2]",
			"ensure d time:ts9! => d=4 v1 @1 …",
			"truncate d => d=5 v1 @1 …",
		}},
		{"create", []string{
			public,
			"create t time:ts3! a:string* b:float64 ttl=7d => t=1 v1 @1 time:timestampmillisecond/1! a:string/2* " +
				"b:float64/3 ttl=7days",
			"create t time:ts3! => 4000 Table `t` already exists",
			"create t other:ts9! if-not-exists => t=1 v1 @1 time:timestampmillisecond/1! a:string/2* b:float64/3 ttl=7days",
			"create u a:string => 1004 Table `u` has no time index; exactly one timestamp column must be the time index",
			"create u time:ts3! append_mode=maybe => 1004 …",
			"create nope.u time:ts3! => 4004 Database `nope` not found",
			"create information_schema.u time:ts3! => 1004 …",
		}},
		{"alter columns", []string{
			public,
			"create t time:ts3! k:string# a:string",
			"add-column t b:int64 => t=1 v2 @1 time:timestampmillisecond/1! k:string/2# a:string/3 b:int64/4",
			"add-column t b:int64 => 4003 Column `b` already exists in table `t`",
			"add-column t t2:ts3! => 1004 Column `t2` cannot be added as a time index: table `t` already has one",
			"add-column t n:int64* => 1004 Column `n` cannot be added as NOT NULL without a default: rows of table " +
				"`t` have no value for it",
			"drop-column t a => t=1 v3 min3 @1 time:timestampmillisecond/1! k:string/2# b:int64/4",
			"add-column t a:bool => t=1 v4 min3 @1 time:timestampmillisecond/1! k:string/2# b:int64/4 a:boolean/5",
			"drop-column t nope => 4002 Column `nope` not found in table `t`",
			"drop-column t time => 1004 Column `time` is the time index of table `t` and cannot be dropped",
			"drop-column t k => 1004 Column `k` is part of the primary key of table `t` and cannot be dropped",
			"drop-column nope a => 4001 Table `nope` not found",
			"add-column nope.t a:bool => 4004 Database `nope` not found",
		}},
		{"alter options", []string{
			public,
			"create t time:ts3!",
			"set t ttl=7d => t=1 v2 @1 time:timestampmillisecond/1! ttl=7days",
			"set t ttl=7_days => t=1 v2 @1 time:timestampmillisecond/1! ttl=7days",
			"set t ttl=soon => 1004 …",
			"set t colour=red => 1004 …",
			"set t auto_create_table=true => 1004 …",
			"set t merge_mode=last_non_null => t=1 v3 @1 time:timestampmillisecond/1! merge_mode=last_non_null ttl=7days",
			"set t append_mode=true => 1004 …",
			"unset t merge_mode ttl skip_wal => t=1 v4 @1 time:timestampmillisecond/1!",
			"set t partitions=4 => t=1 v5 @1 time:timestampmillisecond/1! partitions=4",
			"unset t partitions => t=1 v6 @1 time:timestampmillisecond/1!",
			"set t append_mode=TRUE => t=1 v7 @1 time:timestampmillisecond/1! append_mode=true",
			"set t append_mode=false => 1004 append_mode of table `t` cannot be changed from true to false: rows " +
				"would be merged that were kept apart",
			"unset t append_mode => 1004 append_mode of table `t` cannot be changed from true to false: rows would " +
				"be merged that were kept apart",
			"set t merge_mode=last_non_null => 1004 …",
			"unset t colour => 1004 Unknown table option, key: colour",
		}},
		{"rename", []string{
			public, "create-db web",
			"create a time:ts3!", "create b time:ts3!",
			"rename a b => 4000 Table `b` already exists",
			"rename a 1x => 1004 …",
			"rename a c => c=1 v2 @1 time:timestampmillisecond/1!",
			"drop a => 4001 Table `a` not found",
			"create a time:ts3! => a=3 v1 @1 time:timestampmillisecond/1!",
			"drop c => dropped [1]",
		}},
		{"drop and truncate", []string{
			public,
			"drop t => 4001 Table `t` not found",
			"drop t if-exists => ",
			"drop nope.t => 4004 Database `nope` not found",
			"drop nope.t if-exists => ",
			"drop svc_private.t if-exists => 1004 …",
			"ensure t time:ts9! a:string",
			"truncate t => t=2 v1 @1 time:timestampnanosecond/1! a:string/2 append_mode=true; dropped [1]",
			"truncate u => 4001 Table `u` not found",
			"drop t => dropped [2]",
			"ensure t time:ts9! => t=3 v1 @1 time:timestampnanosecond/1! append_mode=true",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRunner(t)
			for _, step := range test.steps {
				line, want, checked := strings.Cut(step, " => ")
				got := r.do(line)
				switch {
				case !checked && len(got) > 4 && got[:4] >= "1000" && got[:4] <= "7999" && got[4] == ' ':
					t.Errorf("%s\n got %s\nwant no error", line, got)
				case checked && !matches(want, got):
					t.Errorf("%s\n got %s\nwant %s", line, got, want)
				}
			}
		})
	}
}

// matches reports whether text matches a pattern in which … stands for any text.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "…")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, p := range parts[1:] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return true
}

func TestCaps(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	line := "ensure wide time:ts9!"
	for i := 1; i < catalog.MaxColumns; i++ {
		line += fmt.Sprintf(" c%d:string", i)
	}
	if got := r.do(line); !strings.HasPrefix(got, "wide=1 v1") {
		t.Fatalf("a table of %d columns: %.100s", catalog.MaxColumns, got)
	}
	const want = "1004 Table `wide` would have 4097 columns, at most 4096 are allowed; put variable keys into one " +
		"JSON column, or write to several tables"
	for _, more := range []string{"ensure wide one:string", "add-column wide one:string", line + " one:string"} {
		if got := r.do(more); got != want {
			t.Errorf("one more column: %.200s", got)
		}
	}
	long := strings.Repeat("x", 129)
	if got := r.do("ensure " + long + " time:ts9!"); !strings.HasPrefix(got, "1004 ") {
		t.Errorf("a long name: %s", got)
	}
}
