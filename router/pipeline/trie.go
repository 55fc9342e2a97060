package pipeline

import (
	"bytes"
	"hash/maphash"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/router/vrl/jsonscan"
)

// node is a key at a place in the records, below its parent. The root is the record itself. It caches the column of
// its values and the key that followed last time.
type node struct {
	guess jsonscan.Guess // zero for a key with escapes

	next *node // the sibling that followed last time
	// others are siblings that followed at other times, because records may have several shapes.
	others  [maxOthers]*node
	nothers uint8
	first   *node // the child that came first last time
	stamp   uint64

	col  *column.Col // column of the values; nil until the first one
	want valueKind   // the kind of values that it can hold unchanged; 0 means that values are checked
	kind nodeKind

	key    []byte // decoded
	parent *node
	level  int // number of segments in its name
	length int // length of its name in bytes
	hash   uint64
	kids   []*node // hash table with open addressing, at most half full
	nkids  int
}

// maxOthers limits the number of siblings that are tried after a wrong guess. Each try is cheaper than the look-up
// that it may save.
const maxOthers = 6

// followed records that kid came after n.
func (n *node) followed(kid *node) {
	old := n.next
	n.next = kid
	if old == nil {
		return
	}
	for i, o := range n.others[:n.nothers] {
		if o == kid {
			n.others[i] = old
			return
		}
	}
	if n.nothers < maxOthers {
		n.others[n.nothers] = old
		n.nothers++
	}
}

// other returns the sibling that followed n before and has the key at pos, or nil.
func (n *node) other(src []byte, pos int) *node {
	for _, o := range n.others[:n.nothers] {
		if o.guess.At(src, pos) {
			return o
		}
	}
	return nil
}

// When the trie has this many nodes or bytes of keys, it is emptied. This limits the memory for records whose
// keys are always new.
const (
	maxTrieNodes = 1 << 15
	maxTrieBytes = 8 << 20
)

// trie has the nodes of one destination. Its memory is kept between requests.
type trie struct {
	root  *node
	seed  maphash.Seed
	slabs [][]node
	used  int
	bytes []byte // block to which keys are copied
	size  int    // bytes of all keys
}

const slabNodes = 64

func (t *trie) reset() {
	t.used, t.size, t.bytes = 0, 0, t.bytes[:0]
	t.root = t.alloc()
}

func (t *trie) full(maxNodes int) bool { return t.used > maxNodes || t.size > maxTrieBytes }

func (t *trie) alloc() *node {
	slab, i := t.used/slabNodes, t.used%slabNodes
	if slab == len(t.slabs) {
		t.slabs = append(t.slabs, make([]node, slabNodes))
	}
	t.used++
	n := &t.slabs[slab][i]
	clear(n.kids)
	*n = node{kids: n.kids}
	return n
}

// keep copies b and more to memory that stays until reset.
func (t *trie) keep(b []byte, more string) []byte {
	n := len(b) + len(more)
	t.size += n
	if cap(t.bytes)-len(t.bytes) < n {
		t.bytes = make([]byte, 0, max(4096, n))
	}
	from := len(t.bytes)
	t.bytes = append(append(t.bytes, b...), more...)
	return t.bytes[from:len(t.bytes):len(t.bytes)]
}

// child returns parent's child with that key. fresh is set if it was just created.
func (t *trie) child(parent *node, key []byte) (n *node, fresh bool) {
	h := maphash.Bytes(t.seed, key)
	if mask := uint64(len(parent.kids) - 1); len(parent.kids) > 0 {
		for i := h & mask; parent.kids[i] != nil; i = (i + 1) & mask {
			if n := parent.kids[i]; n.hash == h && bytes.Equal(n.key, key) {
				return n, false
			}
		}
	}
	n = t.alloc()
	n.parent, n.hash, n.level, n.length = parent, h, parent.level+1, len(key)
	if parent.level > 0 {
		n.length += parent.length + 1
	}
	n.setKey(t, key)
	parent.add(n)
	return n, true
}

func (n *node) setKey(t *trie, key []byte) {
	if !jsonscan.IsPlain(key) {
		n.key = t.keep(key, "")
		return
	}
	quoted := t.keep(key, `":`)
	n.guess.Set(quoted)
	n.key = quoted[:len(key):len(key)]
}

func (n *node) add(kid *node) {
	if 2*(n.nkids+1) > len(n.kids) {
		old := n.kids
		n.kids = make([]*node, max(8, 2*len(old)))
		for _, k := range old {
			if k != nil {
				n.place(k)
			}
		}
	}
	n.place(kid)
	n.nkids++
}

func (n *node) place(kid *node) {
	mask := uint64(len(n.kids) - 1)
	i := kid.hash & mask
	for n.kids[i] != nil {
		i = (i + 1) & mask
	}
	n.kids[i] = kid
}

// appendName appends the flattened name.
func (n *node) appendName(dst []byte) []byte {
	if n.level > 1 {
		dst = append(n.parent.appendName(dst), '.')
	}
	return append(dst, n.key...)
}

// compareNodes compares nodes by their segments. Columns of one record are sorted in this order.
func compareNodes(a, b *node) int {
	pa, pb := a, b
	for pa.level > pb.level {
		pa = pa.parent
	}
	for pb.level > pa.level {
		pb = pb.parent
	}
	if pa == pb {
		return a.level - b.level
	}
	for pa.parent != pb.parent {
		pa, pb = pa.parent, pb.parent
	}
	return bytes.Compare(pa.key, pb.key)
}

// setColumn sets the node's column.
func (n *node) setColumn(col *column.Col) {
	n.col = col
	switch col.Type {
	case schema.String:
		n.want = kindString
	case schema.Int64:
		n.want = kindInt
	case schema.Float64:
		n.want = kindFloat
	case schema.Boolean:
		n.want = kindBool
	default:
		n.want = kindNone
	}
}
