package webtest

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPipelineRights checks that saving and deleting pipelines, and new ones, are offered to users with the privilege
// WRITE on them, and to nobody else: the operator of a cluster may read pipelines and not store them.
func TestPipelineRights(t *testing.T) {
	s, _ := startWithAdmin(t)
	s.storePipeline("web_logs", pipelineText)
	for _, sql := range []string{
		"CREATE USER author PASSWORD 'a long password'", "CREATE USER ops PASSWORD 'a long password'",
		"GRANT READ, WRITE ON PIPELINE web_* TO author", "GRANT READ ON PIPELINE * TO ops",
		"GRANT OPERATE ON CLUSTER TO ops",
	} {
		s.run(sql)
	}

	b := openAlone(t, s.url+"/dashboard/pipelines")
	b.signIn("author", "a long password")
	b.click(`[data-ui=new-pipeline]`)
	b.fill(`[data-ui=new-name]`, "other")
	b.click(`[data-ui=begin]`)
	b.until(`document.querySelector('.begin .wrong').textContent.includes('GRANT WRITE ON PIPELINE "other"')`)
	b.fill(`[data-ui=new-name]`, "web_new")
	b.click(`[data-ui=begin]`)
	b.until(`!document.querySelector('[data-ui=save]').disabled && !document.querySelector('[data-ui=editor]').readOnly`)
	b.do(chromedp.Navigate(s.url + "/dashboard/pipelines?name=web_logs&view=versions"))
	b.until(`document.querySelector('[data-ui=delete-pipeline]')`)

	b = openAlone(t, s.url+"/dashboard/pipelines")
	b.signIn("ops", "a long password")
	b.until(`document.querySelector('[data-ui=pipeline]') && !document.querySelector('[data-ui=new-pipeline]')`)
	b.do(chromedp.Navigate(s.url + "/dashboard/pipelines?name=web_logs"))
	b.until(`document.querySelector('[data-ui=may-not-write]') && document.querySelector('[data-ui=editor]').readOnly &&
		!document.querySelector('[data-ui=save]')`)
	b.axe("a pipeline that the user may not change")
	b.do(chromedp.Navigate(s.url + "/dashboard/pipelines?name=web_logs&view=versions"))
	b.until(`document.querySelector('[data-ui=version]') && !document.querySelector('[data-ui=delete-pipeline]')`)
	b.do(chromedp.Navigate(s.url + "/dashboard/pipelines?view=new"))
	b.until(`document.querySelector('[data-ui=empty]').textContent.includes('You may not store pipelines.')`)
	if r, err := http.NewRequest(http.MethodDelete, s.url+"/v1/pipelines/web_logs", nil); err != nil {
		t.Fatal(err)
	} else {
		r.SetBasicAuth("ops", "a long password")
		resp, err := http.DefaultClient.Do(r)
		if err != nil || resp.StatusCode != http.StatusForbidden {
			t.Fatalf("the server lets the operator delete a pipeline: %v, %v", resp, err)
		}
		resp.Body.Close()
	}
}
