// Package lru implements a cache that removes the least recently used values.
//
// A Cache has no lock and no goroutines. Its owner guards it, often together with its own counters.
package lru

import "container/list"

// Cache maps keys to values, up to a total weight. The zero value is not usable; see New.
type Cache[K comparable, V any] struct {
	limit, weight int64
	byKey         map[K]*list.Element
	order         list.List // of *item[K, V], the last used one in front
}

type item[K comparable, V any] struct {
	key    K
	value  V
	weight int64
}

// New returns an empty cache for values with a total weight of at most limit.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, byKey: map[K]*list.Element{}}
}

// Get returns the value of a key and marks it as used.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	e := c.byKey[key]
	if e == nil {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*item[K, V]).value, true
}

// Peek returns the value of a key. It does not count as a use.
func (c *Cache[K, V]) Peek(key K) (value V, ok bool) {
	e := c.byKey[key]
	if e == nil {
		return value, false
	}
	return e.Value.(*item[K, V]).value, true
}

// Put sets the value of a key and marks it as used. Then it removes other values until the total
// weight is within the limit. The new value stays, whatever its weight. Put returns how many values
// were removed.
func (c *Cache[K, V]) Put(key K, value V, weight int64) (dropped int) {
	c.Remove(key)
	c.byKey[key] = c.order.PushFront(&item[K, V]{key, value, weight})
	c.weight += weight
	for c.weight > c.limit && c.order.Len() > 1 {
		c.drop(c.order.Back())
		dropped++
	}
	return dropped
}

// Remove removes the value of a key, if it has one.
func (c *Cache[K, V]) Remove(key K) {
	if e := c.byKey[key]; e != nil {
		c.drop(e)
	}
}

func (c *Cache[K, V]) drop(e *list.Element) {
	i := c.order.Remove(e).(*item[K, V])
	delete(c.byKey, i.key)
	c.weight -= i.weight
}

// Len returns the number of values.
func (c *Cache[K, V]) Len() int { return len(c.byKey) }

// Weight returns the total weight of all values.
func (c *Cache[K, V]) Weight() int64 { return c.weight }
