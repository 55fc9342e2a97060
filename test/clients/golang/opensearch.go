package main

import (
	"context"
	"fmt"

	"github.com/opensearch-project/opensearch-go/v4"
	"github.com/opensearch-project/opensearch-go/v4/opensearchapi"
	"github.com/opensearch-project/opensearch-go/v4/opensearchutil"
)

// byOpenSearch sends documents with the BulkIndexer of opensearch-go.
func byOpenSearch(address string, documents []document) error {
	client, err := opensearchapi.NewClient(opensearchapi.Config{
		Client: opensearch.Config{Addresses: []string{"http://" + address}, MaxRetries: 20},
	})
	if err != nil {
		return err
	}
	bulk, err := opensearchutil.NewBulkIndexer(opensearchutil.BulkIndexerConfig{Client: client, Index: "shop", NumWorkers: 1})
	if err != nil {
		return err
	}
	ctx := context.Background()
	for _, d := range documents {
		err := bulk.Add(ctx, opensearchutil.BulkIndexerItem{
			Action: "create", DocumentID: d.id, Body: d.body,
			OnSuccess: func(context.Context, opensearchutil.BulkIndexerItem, opensearchapi.BulkRespItem) { d.outcome(nil) },
			OnFailure: func(_ context.Context, _ opensearchutil.BulkIndexerItem, answer opensearchapi.BulkRespItem, err error) {
				if err == nil {
					err = fmt.Errorf("%d", answer.Status)
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
