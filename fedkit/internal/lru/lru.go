// Package lru keeps what was used last.
package lru

import "sync"

// Cache keeps a value for each of a bounded number of keys, those that were used last. A value that is dropped lives on for whoever
// still uses it. A Cache may be used by several goroutines at once.
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

// New returns a cache for this many keys, at least one.
func New[K comparable, V any](most int) *Cache[K, V] {
	return &Cache[K, V]{most: most, values: map[K]*value[V]{}}
}

// Get returns the value of a key, made if it is not there, in place of the one that was not used for longest. The function must be quick, as
// others wait.
func (c *Cache[K, V]) Get(key K, made func() V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.values[key]
	if v == nil {
		if len(c.values) >= c.most {
			c.drop()
		}
		v = &value[V]{V: made()}
		c.values[key] = v
	}
	c.uses++
	v.last = c.uses
	return v.V
}

// drop makes room for a key.
func (c *Cache[K, V]) drop() {
	var oldest K
	last := c.uses + 1
	for key, v := range c.values {
		if v.last < last {
			oldest, last = key, v.last
		}
	}
	delete(c.values, oldest)
}
