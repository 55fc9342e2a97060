package main

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"cordwood/cmd/cordwood/client"
)

// firstColumn runs a statement that reads, and returns the first column of its rows, of which
// there are at most maxNames.
func firstColumn(ctx context.Context, c *client.Client, sql string) ([]string, error) {
	resp, err := c.Do(ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/sql", Reads: true, Body: []byte(sql), Header: http.Header{"Content-Type": {"application/sql"}},
		Query: url.Values{"format": {"ndjson"}, "limit": {strconv.Itoa(maxNames)}},
	})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var names []string
	err = eachLine(resp.Body, func(line []byte) error {
		_, cells, err := rowCells(line, "", nil)
		if err == nil && len(cells) > 0 {
			names = append(names, cells[0])
		}
		return err
	})
	return names, err
}
