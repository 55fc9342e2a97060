package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/olivere/elastic/v7"
)

// byOlivere sends documents with the bulk service of olivere/elastic.
func byOlivere(address string, documents []document) error {
	client, err := elastic.NewClient(elastic.SetURL("http://"+address), elastic.SetSniff(false), elastic.SetHealthcheck(false))
	if err != nil {
		return err
	}
	defer client.Stop()
	bulk := client.Bulk().Index("shop")
	for _, d := range documents {
		text, err := io.ReadAll(d.body)
		if err != nil {
			return err
		}
		bulk.Add(elastic.NewBulkCreateRequest().Id(d.id).Doc(json.RawMessage(text)))
	}
	answer, err := bulk.Do(context.Background())
	for i, d := range documents {
		switch {
		case err != nil:
			d.outcome(err)
		case len(answer.Items) <= i || answer.Items[i]["create"] == nil || answer.Items[i]["create"].Status != 201:
			d.outcome(fmt.Errorf("not stored: %v", answer.Items))
		default:
			d.outcome(nil)
		}
	}
	return nil
}
