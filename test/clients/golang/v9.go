package main

import (
	"context"
	"fmt"
	"time"

	"github.com/elastic/go-elasticsearch/v9"
	"github.com/elastic/go-elasticsearch/v9/esutil"
)

// by9 sends documents with version 9 of the client library.
func by9(address string, documents []document) error {
	client, err := elasticsearch.NewClient(elasticsearch.Config{
		Addresses: []string{"http://" + address}, MaxRetries: 20,
		RetryBackoff: func(int) time.Duration { return 200 * time.Millisecond },
	})
	if err != nil {
		return err
	}
	bulk, err := esutil.NewBulkIndexer(esutil.BulkIndexerConfig{Client: client, Index: "shop", NumWorkers: 1})
	if err != nil {
		return err
	}
	ctx := context.Background()
	for _, d := range documents {
		err := bulk.Add(ctx, esutil.BulkIndexerItem{
			Action: "create", DocumentID: d.id, Body: d.body,
			OnSuccess: func(context.Context, esutil.BulkIndexerItem, esutil.BulkIndexerResponseItem) { d.outcome(nil) },
			OnFailure: func(_ context.Context, _ esutil.BulkIndexerItem, answer esutil.BulkIndexerResponseItem, err error) {
				if err == nil {
					err = fmt.Errorf("%d: %s", answer.Status, answer.Error.Reason)
				}
				d.outcome(err)
			},
		})
		if err != nil {
			return err
		}
	}
	return bulk.Close(ctx)
}
