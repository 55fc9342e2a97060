package webtest

import (
	"strings"
	"testing"
	"time"
)

// TestWholeValues opens a row whose text the list has cut, in Explore, by its link and in a tail: the text
// must be whole.
func TestWholeValues(t *testing.T) {
	s := start(t)
	now := time.Now().UnixMilli()
	s.ingest("app", map[string]any{"ts": now, "level": "INFO", "msg": strings.Repeat("long ", 600) + "end"})
	whole := `(document.querySelector('.fold')?.click(),
		document.querySelector('[data-ui=detail] [data-name=msg]').textContent.includes('long end'))`
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.click(`[data-ui=row]`)
	b.until(whole)
	other := open(t, eval[string](b, `location.href`))
	other.until(whole)
	b = open(t, s.url+"/dashboard/tail?t=app")
	b.click(`[data-ui=empty] .button`)
	b.click(`[data-ui=row]`)
	b.until(whole)
	// A click on a value narrows the tail to it.
	b.click(`[data-ui=detail] [data-name=level] [data-ui=value-in]`)
	b.until(`document.querySelector('[data-ui=search]').value === 'level=INFO'`)
}

// TestRoles chooses the columns with the message and the level: rows, levels, words and clicks must use
// them, in Explore, by its link and in a tail, and Settings must show them.
func TestRoles(t *testing.T) {
	s := start(t)
	rows := logs(30)
	for i, row := range rows {
		row["note"], row["grade"] = "noted "+row["host"].(string), []string{"WARN", "DEBUG"}[i%2]
	}
	s.ingest("app", rows...)
	choose := func(b *tab, ui, name string) {
		t.Helper()
		b.until(`[...document.querySelector('[data-ui=` + ui + `]').options].some((o) => o.value === '` + name + `')`)
		eval[bool](b, `(() => { const e = document.querySelector('[data-ui=`+ui+`]'); e.value = '`+name+`';
			e.dispatchEvent(new Event('change', {bubbles: true})); return true })()`)
	}
	b := open(t, s.url+"/dashboard/explore?t=app")
	b.until(loaded)
	b.search("noted")
	b.until(`document.querySelector('[data-ui=empty]').textContent.includes('None of the 30 rows in this range')`)
	b.click(`[data-ui=columns]`)
	choose(b, "role-message", "note")
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('30 rows')`)
	choose(b, "role-level", "grade")
	b.until(`document.querySelector('[data-ui=row][data-level=warn] [data-ui=row-line]').textContent
		.startsWith('noted web-')`)
	b.click(`[data-ui=legend-debug]`)
	b.until(`document.querySelector('[data-ui=search]').value === 'noted grade:debug'`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('15 rows')`)
	other := open(t, eval[string](b, `location.href`))
	other.until(`document.querySelector('[data-ui=total]').textContent.includes('15 rows')`)
	b.press("l")
	b.until(`document.querySelector('[data-ui=tail-state]').textContent.includes('Live')`)
	s.ingest("app", rows...)
	b.until(`document.querySelector('[data-ui=rows]').getAttribute('aria-rowcount') === '15'`)
	b.until(`document.querySelector('[data-ui=row-line]').textContent.startsWith('noted web-')`)
	b.click(`[data-ui=nav-settings]`)
	choose(b, "roles-table", "app")
	b.until(`document.querySelector('[data-ui=role-level]').value === 'grade'`)
	choose(b, "role-level", "level")
	b.click(`[data-ui=nav-explore]`)
	b.until(`document.querySelector('[data-ui=row][data-level=error]')`)
}

// TestLaterRows asks for a range before all rows, in which the page says where the rows are, and shows them.
func TestLaterRows(t *testing.T) {
	s := start(t)
	s.ingest("app", logs(5)...)
	b := open(t, s.url+"/dashboard/explore?t=app&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z")
	b.until(`document.querySelector('[data-ui=newest-row]').textContent.includes('later than this range')`)
	eval[bool](b, `([...document.querySelectorAll('[data-ui=empty] button')].find((e) =>
		e.textContent === 'Show the newest row').click(), true)`)
	b.until(`document.querySelector('[data-ui=total]').textContent.includes('row')`)
	b.until(`document.querySelectorAll('[data-ui=row]').length > 0`)
}
