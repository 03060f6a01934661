// Package lru has a cache that evicts the least recently used value.
package lru

import "sync"

// Cache has a value for each of a bounded number of keys, and evicts the least recently used. An evicted value stays valid for
// its users. A Cache is safe for concurrent use.
type Cache[K comparable, V any] struct {
	most int

	mu     sync.Mutex
	values map[K]*value[V]
	uses   int // so far
}

type value[V any] struct {
	V    V
	last int // use
}

// New returns a cache for at most this many keys, at least one.
func New[K comparable, V any](most int) *Cache[K, V] {
	return &Cache[K, V]{most: most, values: map[K]*value[V]{}}
}

// Get returns the value of a key. It makes a missing one, and evicts the least recently used if the cache is full. made must be
// quick, as others wait.
func (c *Cache[K, V]) Get(key K, made func() V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.values[key]
	if v == nil {
		if len(c.values) >= c.most {
			c.evict()
		}
		v = &value[V]{V: made()}
		c.values[key] = v
	}
	c.uses++
	v.last = c.uses
	return v.V
}

// evict removes the least recently used key.
func (c *Cache[K, V]) evict() {
	var oldest K
	last := c.uses + 1
	for key, v := range c.values {
		if v.last < last {
			oldest, last = key, v.last
		}
	}
	delete(c.values, oldest)
}
