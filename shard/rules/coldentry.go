package rules

import (
	"encoding/binary"
	"fmt"

	"cordwood/shard/manifest"
)

// This file encodes and decodes cuts and offloads in entries of the log.

func (c *Cut) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, c.Number)
	dst = binary.AppendUvarint(dst, uint64(len(c.Tables)))
	for _, id := range c.Tables {
		dst = binary.AppendUvarint(dst, id)
	}
	return dst
}

func (o *Offload) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, o.Number)
	dst = binary.AppendUvarint(dst, uint64(len(o.Tables)))
	for _, t := range o.Tables {
		dst = binary.AppendUvarint(dst, t.TableID)
		dst = binary.AppendVarint(dst, t.Kept)
		dst = binary.AppendVarint(dst, t.LeftOut)
	}
	parts := make([][]byte, len(o.Objects))
	for i := range o.Objects {
		parts[i] = manifest.AppendObject(nil, &o.Objects[i])
	}
	return appendParts(dst, parts)
}

func (r *entryReader) cut() *Cut {
	c := &Cut{Number: r.uvarint()}
	c.Tables = make([]uint64, r.count())
	for i := range c.Tables {
		c.Tables[i] = r.uvarint()
	}
	return c
}

func (r *entryReader) offload() (*Offload, error) {
	o := &Offload{Number: r.uvarint()}
	o.Tables = make([]Offloaded, r.count())
	for i := range o.Tables {
		o.Tables[i] = Offloaded{r.uvarint(), r.varint(), r.varint()}
	}
	for _, part := range r.parts() {
		x, err := manifest.DecodeObject(fmt.Sprintf("object %d of the offload of cut %d", len(o.Objects)+1, o.Number), part)
		if err != nil {
			return nil, err
		}
		o.Objects = append(o.Objects, x)
	}
	return o, nil
}
