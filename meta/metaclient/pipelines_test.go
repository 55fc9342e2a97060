package metaclient

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

func putPipeline(t *testing.T, c *Client, name, text string) int64 {
	t.Helper()
	result, err := c.Propose(within(t), &metapb.Command{
		TimeUnixNano: time.Now().UnixNano(),
		Op: &metapb.Command_PutPipeline{
			PutPipeline: &metapb.PutPipeline{Name: name, ContentType: "yaml", Source: []byte(text)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return result.Pipeline.Version
}

func deletePipeline(t *testing.T, c *Client, name string, version int64) {
	t.Helper()
	if _, err := c.Propose(within(t), &metapb.Command{Op: &metapb.Command_DeletePipeline{
		DeletePipeline: &metapb.DeletePipeline{Name: name, Version: version},
	}}); err != nil {
		t.Fatal(err)
	}
}

func TestPipelines(t *testing.T) {
	cluster := newCluster(t)
	one, two := cluster.client(), cluster.client()
	first := putPipeline(t, one, "edge", "one")
	second := putPipeline(t, one, "edge", "two")
	if p, ok := one.Pipeline("edge"); !ok || p.Version != second {
		t.Errorf("the proposer does not see its version: %v", p)
	}
	// Another client sees it as soon as its watch does.
	await(t, two, func() bool { p, ok := two.Pipeline("edge"); return ok && p.Version == second })
	for version, want := range map[int64]string{first: "one", second: "two"} {
		if p, ok := two.PipelineVersion("edge", version); !ok || p.Size != 3 {
			t.Errorf("version %d: %v", version, p)
		}
		if text, err := two.PipelineText(within(t), "edge", version); err != nil || string(text) != want {
			t.Errorf("text of %d: %q, %v", version, text, err)
		}
	}
	if _, ok := one.PipelineVersion("edge", first+1); ok {
		t.Error("a version that nobody made")
	}
	deletePipeline(t, two, "edge", second)
	if p, ok := two.Pipeline("edge"); !ok || p.Version != first {
		t.Errorf("after the newest was deleted: %v", p)
	}
	if _, err := two.PipelineText(within(t), "edge", second); errs.CodeOf(err) != errs.InvalidArguments {
		t.Errorf("text of a deleted version: %v", err)
	}
	await(t, one, func() bool { p, _ := one.Pipeline("edge"); return p.GetVersion() == first })
	putPipeline(t, one, "a", "x")
	var list []string
	for _, p := range one.Pipelines() {
		list = append(list, p.Name)
	}
	if diff := cmp.Diff([]string{"a", "edge"}, list); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	// A client that starts later gets them with the whole state.
	late := cluster.client()
	var got []string
	err := late.EachPipelineText(within(t), func(p *metapb.PipelineVersion, source []byte) error {
		got = append(got, p.Name+"="+string(source))
		return nil
	})
	if diff := cmp.Diff([]string{"a=x", "edge=one"}, got); diff != "" || err != nil || len(late.Pipelines()) != 2 {
		t.Errorf("late: %v (-want +got):\n%s", err, diff)
	}
}

// await waits for a condition on the client's view.
func await(t *testing.T, c *Client, done func() bool) {
	t.Helper()
	ctx := within(t)
	for {
		changed := c.Changed()
		if done() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal("it did not happen")
		}
	}
}

// TestStatePipelines checks that messages of the watch and of the whole state may overlap.
func TestStatePipelines(t *testing.T) {
	s := newState()
	v := func(name string, version int64) *metapb.PipelineVersion {
		return &metapb.PipelineVersion{Name: name, Version: version}
	}
	for i, step := range []struct {
		put, drop []*metapb.PipelineVersion
		want      string
	}{
		{put: []*metapb.PipelineVersion{v("a", 1), v("b", 2), v("a", 3)}, want: "a1 a3 b2"},
		{put: []*metapb.PipelineVersion{v("a", 3), v("a", 2)}, want: "a1 a2 a3 b2"},
		{drop: []*metapb.PipelineVersion{v("a", 2), v("a", 9), v("c", 1)}, want: "a1 a3 b2"},
		{drop: []*metapb.PipelineVersion{v("b", 2), v("a", 3)}, want: "a1"},
		{put: []*metapb.PipelineVersion{v("b", 5)}, drop: []*metapb.PipelineVersion{v("a", 1)}, want: "b5"},
	} {
		s.add(&metapb.WatchResponse{Pipelines: step.put, DroppedPipelines: step.drop})
		view := &view{state: s}
		var got []string
		for _, p := range view.allPipelines() {
			got = append(got, fmt.Sprint(p.Name, p.Version))
		}
		if text := strings.Join(got, " "); text != step.want {
			t.Errorf("step %d: %s, want %s", i, text, step.want)
		}
	}
}
