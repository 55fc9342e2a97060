package cli

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"cordwood/cmd/cordwood/client"
)

// maxNames is the maximum number of names of one kind.
const maxNames = 10_000

// FirstColumn runs a statement that only reads. It returns at most maxNames values of the first column of the result.
func FirstColumn(ctx context.Context, c *client.Client, sql string) ([]string, error) {
	resp, err := c.Do(ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/sql", Reads: true, Body: []byte(sql),
		Header: http.Header{"Content-Type": {"application/sql"}},
		Query:  url.Values{"format": {"ndjson"}, "limit": {strconv.Itoa(maxNames)}},
	})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var names []string
	err = EachLine(resp.Body, func(line []byte) error {
		_, cells, err := RowCells(line, "", nil)
		if err == nil && len(cells) > 0 {
			names = append(names, cells[0])
		}
		return err
	})
	return names, err
}
