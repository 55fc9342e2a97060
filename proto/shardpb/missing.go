package shardpb

import "cordwood/proto/words"

// lacking is a message about an answer that may be partial.
type lacking interface {
	GetMissing() []*Missing
	GetPartial() []string
}

// MissingIn returns what a message says is missing in the answer. Nodes of earlier versions send texts only.
func MissingIn(m lacking) []words.Missing {
	var out []words.Missing
	for _, of := range m.GetMissing() {
		out = append(out, words.Missing{Table: of.Table, Shard: of.Shard, Segment: of.Segment, Reason: of.Reason})
	}
	if out != nil {
		return out
	}
	for _, text := range m.GetPartial() {
		out = append(out, words.ParseMissing(text))
	}
	return out
}

// NewMissing returns the fields of a message about what is missing in the answer. The texts are for nodes of earlier
// versions.
func NewMissing(list []words.Missing) (fields []*Missing, texts []string) {
	for _, of := range list {
		fields = append(fields, &Missing{Table: of.Table, Shard: of.Shard, Segment: of.Segment, Reason: of.Reason})
		texts = append(texts, of.String())
	}
	return fields, texts
}
