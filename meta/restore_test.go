package meta

import "testing"

func TestApplyRestore(t *testing.T) {
	const public = "bootstrap c1 shards=1"
	for _, tt := range []struct {
		name  string
		steps [][2]string
	}{
		{"a version keeps its number", [][2]string{
			{"restore-pipeline nginx 500 a", "nginx@500 yaml 1"},
			{"restore-pipeline nginx 500 a", "nginx@500 yaml 1"},
			{"restore-pipeline nginx 500 b", "1004 Pipeline nginx has a version 500 already, with another text"},
			{"restore-pipeline nginx 400 older", "nginx@400 yaml 5"},
			{"put nginx b", "nginx@6000000000 yaml 1"},
		}},
		{"later versions are higher", [][2]string{
			{
				"restore-pipeline nginx 8000000000000000000 a",
				"1004 Restore pipeline \"nginx\": 8000000000000000000 is not a version",
			},
			{"restore-pipeline nginx 0 a", "1004 Restore pipeline \"nginx\": 0 is not a version"},
		}},
		{"a version of the future", [][2]string{
			{"restore-pipeline nginx 90000000000000 a", "nginx@90000000000000 yaml 1"},
			{"put nginx b", "nginx@90000000000001 yaml 1"},
			{"put other b", "other@90000000000002 yaml 1"},
		}},
		{"what a pipeline must not be", [][2]string{
			{
				"restore-pipeline a/b 500 a",
				`1004 Invalid pipeline name: "a/b"; 1 to 128 letters, digits and _ . : - are allowed`,
			},
			{"restore-pipeline nginx 500", "1004 Put pipeline nginx: the text is empty"},
		}},
		{"a table knows its backup", [][2]string{
			{"restore t time:ts3! backup=b1", "t=1 v1 @1 time:timestampmillisecond/1! from b1 complete=false"},
			{"truncate t", "t=2 v1 @1 time:timestampmillisecond/1! from b1 complete=false; dropped [1]"},
			{"restored t", "t=2 v2 @1 time:timestampmillisecond/1! from b1 complete=true"},
			{"restored t", "t=2 v2 @1 time:timestampmillisecond/1! from b1 complete=true"},
			{"truncate t", "t=3 v2 @1 time:timestampmillisecond/1!; dropped [2]"},
			{"restored t", "1004 Table `t` is not being restored"},
		}},
		{"a table is put in the place of another", [][2]string{
			{"create t time:ts3! v:int64", "t=1 v1 @1 time:timestampmillisecond/1! v:int64/2"},
			{"restore r time:ts3! backup=b1 replaces=t", "r=2 v1 @1 time:timestampmillisecond/1! from b1 complete=false for t"},
			{"replace b1 r/2>t/1", "1004 Table `r` is not a complete copy of `t` from backup b1: `t` stays as it is"},
			{"truncate r", "r=3 v1 @1 time:timestampmillisecond/1! from b1 complete=false for t; dropped [2]"},
			{"restored r", "r=3 v2 @1 time:timestampmillisecond/1! from b1 complete=true for t"},
			{"replace b2 r/3>t/1", "1004 Table `r` is not a complete copy of `t` from backup b2: `t` stays as it is"},
			{"replace b1 r/2>t/1", "1004 Table `r` is not a complete copy of `t` from backup b1: `t` stays as it is"},
			{"replace b1 r/3>t/9", "4000 Table `t` was created or truncated while the backup was restored, " +
				"so it is not replaced; drop it and try again"},
			{"replace b1 r/3>t", "4000 Table `t` was created or truncated while the backup was restored, " +
				"so it is not replaced; drop it and try again"},
			{"replace b1 r/3>t/1", "t=3 v3 @1 time:timestampmillisecond/1! from b1 complete=true; dropped [1]"},
			{"replace b1 r/3>t/1", "t=3 v3 @1 time:timestampmillisecond/1! from b1 complete=true"},
			{"drop t", "dropped [3]"},
			{"replace b1 r/3>t/1", "4001 Table `r` not found: `t` stays as it is"},
		}},
		{"a complete copy that somebody empties is filled again", [][2]string{
			{"create t time:ts3! v:int64", "t=1 v1 @1 time:timestampmillisecond/1! v:int64/2"},
			{"restore r time:ts3! backup=b1 replaces=t", "r=2 v1 @1 time:timestampmillisecond/1! from b1 complete=false for t"},
			{"restored r", "r=2 v2 @1 time:timestampmillisecond/1! from b1 complete=true for t"},
			{"truncate r", "r=3 v2 @1 time:timestampmillisecond/1! from b1 complete=false for t; dropped [2]"},
			{"replace b1 r/2>t/1", "1004 Table `r` is not a complete copy of `t` from backup b1: `t` stays as it is"},
			{"replace b1 r/3>t/1", "1004 Table `r` is not a complete copy of `t` from backup b1: `t` stays as it is"},
			{"restored r", "r=3 v3 @1 time:timestampmillisecond/1! from b1 complete=true for t"},
			{"replace b1 r/3>t/1", "t=3 v4 @1 time:timestampmillisecond/1! from b1 complete=true; dropped [1]"},
		}},
		{"all tables or none", [][2]string{
			{"create t time:ts3!", "t=1 v1 @1 time:timestampmillisecond/1!"},
			{"restore r time:ts3! backup=b1 replaces=t", "r=2 v1 @1 time:timestampmillisecond/1! from b1 complete=false for t"},
			{"restore s time:ts3! backup=b1 replaces=u", "s=3 v1 @1 time:timestampmillisecond/1! from b1 complete=false for u"},
			{"restored r", "r=2 v2 @1 time:timestampmillisecond/1! from b1 complete=true for t"},
			{"replace b1 r/2>t/1 s/3>u", "1004 Table `s` is not a complete copy of `u` from backup b1: `u` stays as it is"},
			{"replace b1 r/2>t/1 s/3>t/1", "1004 Replace tables: `t` is given twice"},
			{"restored s", "s=3 v2 @1 time:timestampmillisecond/1! from b1 complete=true for u"},
			{"replace b1 r/2>t/1 s/3>u", "t=2 v3 @1 time:timestampmillisecond/1! from b1 complete=true; u=3 v3 @1 " +
				"time:timestampmillisecond/1! from b1 complete=true; dropped [1]"},
		}},
		{"a table that was dropped meanwhile is not missed", [][2]string{
			{"create t time:ts3!", "t=1 v1 @1 time:timestampmillisecond/1!"},
			{"restore r time:ts3! backup=b1 replaces=t", "r=2 v1 @1 time:timestampmillisecond/1! from b1 complete=false for t"},
			{"restored r", "r=2 v2 @1 time:timestampmillisecond/1! from b1 complete=true for t"},
			{"drop t", "dropped [1]"},
			{"replace b1 r/2>t/1", "t=2 v3 @1 time:timestampmillisecond/1! from b1 complete=true"},
		}},
		{"without rows", [][2]string{
			{"create t time:ts3!", "t=1 v1 @1 time:timestampmillisecond/1!"},
			{"restore r time:ts3! backup=b1 replaces=t", "r=2 v1 @1 time:timestampmillisecond/1! from b1 complete=false for t"},
			{"replace b1 r/2>t/1 without-rows", "t=2 v2 @1 time:timestampmillisecond/1!; dropped [1]"},
		}},
		{"a table that somebody renames is its own", [][2]string{
			{"restore r time:ts3! backup=b1 replaces=t", "r=1 v1 @1 time:timestampmillisecond/1! from b1 complete=false for t"},
			{"rename r mine", "mine=1 v2 @1 time:timestampmillisecond/1! from b1 complete=false"},
		}},
		{"what replacements must not be", [][2]string{
			{
				"restore r time:ts3! backup=b1 replaces=9t",
				`1004 Invalid table name: "9t"; a table name begins with a letter or one of _ : - and continues with ` +
					`these, digits or . @ #`,
			},
			{
				"replace b1 r/1>9t",
				`1004 Invalid table name: "9t"; a table name begins with a letter or one of _ : - and continues with ` +
					`these, digits or . @ #`,
			},
			{"replace b1 r/1>r/2", "1004 Replace tables: `r` is given twice"},
		}},
		{"of no backup", [][2]string{
			{"restore t time:ts3!", "1004 The backup id is empty"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRunner(t)
			r.do(public)
			for _, step := range tt.steps {
				if got := r.do(step[0]); !matches(step[1], got) {
					t.Errorf("%s:\n got  %s\n want %s", step[0], got, step[1])
				}
			}
		})
	}
}
