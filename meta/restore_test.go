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
			{"restore-pipeline nginx 8000000000000000000 a", "1004 Restore pipeline \"nginx\": 8000000000000000000 is no version"},
			{"restore-pipeline nginx 0 a", "1004 Restore pipeline \"nginx\": 0 is no version"},
		}},
		{"a version of the future", [][2]string{
			{"restore-pipeline nginx 90000000000000 a", "nginx@90000000000000 yaml 1"},
			{"put nginx b", "nginx@90000000000001 yaml 1"},
			{"put other b", "other@90000000000002 yaml 1"},
		}},
		{"what a pipeline must not be", [][2]string{
			{"restore-pipeline a/b 500 a", `1004 Invalid pipeline name: "a/b"; 1 to 128 letters, digits and _ . : - are allowed`},
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
