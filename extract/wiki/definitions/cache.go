package definitions

import "sync"

// cacheBytes is the maximum size of one generation of a cache, in bytes.
const cacheBytes = 16 << 20

// A Cache caches lookups in a directory, because pages use a few templates often. It
// holds at most 32 MiB and is safe for concurrent use.
//
// The cache has two generations. A result that is used moves to the young generation.
// When the young generation is full, the old one is dropped and the young one becomes
// the old one.
type Cache struct {
	directory *Directory

	mu         sync.Mutex
	young, old map[cacheKey]string
	size       int // size of young in bytes
	err        error
}

type cacheKey struct{ name, title string }

// NewCache returns an empty cache for a directory.
func NewCache(d *Directory) *Cache { return &Cache{directory: d, young: map[cacheKey]string{}} }

// Definition returns the value of a template, given its folded name and its title
// ([Directory.Find]). It returns "" if there is none, or if a file cannot be read; Err
// then returns the error.
func (c *Cache) Definition(name, title []byte) string {
	c.mu.Lock()
	if value, ok := c.young[cacheKey{string(name), string(title)}]; ok {
		c.mu.Unlock()
		return value
	}
	value, ok := c.old[cacheKey{string(name), string(title)}]
	c.mu.Unlock()
	key := cacheKey{string(name), string(title)}
	var err error
	if !ok {
		value, err = c.directory.Find(key.name, key.title)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if c.err == nil {
			c.err = err
		}
		return ""
	}
	if c.size += len(name) + len(title) + len(value) + 128; c.size > cacheBytes {
		c.old, c.young, c.size = c.young, map[cacheKey]string{}, 0
	}
	c.young[key] = value
	return value
}

// Err returns the first error of a lookup. Text rendered after that error may lack
// templates.
func (c *Cache) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
