package engine

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cordwood/shard/query"
)

var positionOf = regexp.MustCompile(`\(position (\d+)\)`)

// TestPositions checks that the position in an error refers to the mistake in the client's text,
// whatever was inserted into the text before the engine got it. The mistake begins at §.
func TestPositions(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "message:String", "n:Int64", "data:Json")
	tab := table("logs", columns, batch(t, columns, []any{1, "a", 1, `{"a":1}`}))
	twin := table("Twin", cols("ts:TimestampSecond", "A:String", "a:String"),
		batch(t, cols("ts:TimestampSecond", "A:String", "a:String"), []any{1, "x", "y"}))
	for _, marked := range []string{
		"SELECT §mesage FROM logs",
		"SELECT message, §mesage FROM logs",
		"SELECT count(*) FROM public.logs AS l WHERE §l.mesage = 'a'",
		"SELECT public.logs.message, §mesage FROM public.logs",
		"SELECT logs.message, §public.logs.mesage FROM public.logs",
		"SELECT `message`, `n`, §mesage FROM `logs`",
		"SELECT data->>'a', data->'b'->>'c', §mesage FROM logs WHERE data->>'a'='x'",
		"SELECT message FROM logs WHERE data->>'a' = 'x' AND data->'b'->>'c' = 'y' AND §mesage = 'z'",
		"SELECT message FROM logs WHERE message ~ 'a' AND matches(message, 'fox AND +jumps') AND §mesage = 'z'",
		"SELECT 'Grüße', '日本', §mesage FROM logs WHERE message <> 'é'",
		"SELECT now(), now() - INTERVAL 1 DAY, §mesage FROM logs",
		"SELECT * FROM logs WHERE ts > '2024-01-01 00:00:00+02:00' AND ts < '2024-01-01T00:00:00Z' AND §mesage = 1",
		"SELECT * FROM logs WHERE ts > 0 AND §mesage = 1",
		"SELECT * FROM logs WHERE ts > 1700000000 AND ts < 1700000001 AND §mesage = 1",
		"WITH c AS (SELECT * FROM logs WHERE n > 1), d AS (SELECT * FROM c) SELECT c.message, §mesage FROM c, d",
		"SELECT message FROM logs UNION ALL SELECT §mesage FROM logs",
		"SELECT (SELECT max(n) FROM logs), (SELECT max(§mesage) FROM logs)",
		"SELECT message\n\t, n\n\t, §mesage -- a comment\nFROM logs\n",
		"/* a comment with FROM logs */ SELECT §mesage FROM logs",
		"SELECT date_trunc('minute', ts) AS m, count(*) FROM logs GROUP BY m HAVING max(§mesage) > 1",
		"SELECT A, a, Twin.a, §mesage FROM Twin",
		"SELECT a.message FROM logs AS a JOIN logs AS b ON a.n = b.n WHERE §b.mesage = 1 ORDER BY a.n",
		"SELECT message FROM logs ORDER BY ts DESC, §mesage LIMIT 5",
		"SELECT §nosuch(message) FROM logs",
		"SELECT message, length(message), §substr(1, 2, 3, 4, 5) FROM logs",
		"SELECT message FROM logs WHERE `n` = 1 AND message §+ 1 > 2",
		"SELECT `n`, data->>'a' FROM logs WHER §n = 1",
		"SELECT `n`, data->>'a' FROM logs WHERE §FROM",
		"SELECT list_transform([n], x -> x + 1), `n`, §mesage FROM logs",
		"EXPLAIN SELECT `n`, §mesage FROM logs",
		"SELECT `n`, message FROM logs WHERE message LIKE '%a%' AND message ILIKE '_b' AND §mesage = 'z'",
	} {
		want := strings.Index(marked, "§")
		text := strings.Replace(marked, "§", "", 1)
		for _, long := range []string{"", " /* " + strings.Repeat("x ", 3000) + "*/ "} {
			_, err := request(t.Context(), e, &query.Request{
				SQL: long + text, Database: "public", Tables: []query.Table{tab, twin}, Timezone: "Europe/Paris",
			})
			if err == nil {
				t.Errorf("%s: no error", text)
				continue
			}
			m := positionOf.FindStringSubmatch(err.Error())
			if m == nil {
				t.Errorf("%s: no position: %v", text, err)
			} else if at, _ := strconv.Atoi(m[1]); at != want+len(long) {
				t.Errorf("%s: position %d, want %d: %v", text, at-len(long), want, err)
			}
		}
	}
}
