// Package store keeps the live objects of one kind in memory. A Store is never older than the controller's last write,
// so a lagging watch cannot cause a second write.
//
//	s := store.New(store.Options{Now: time.Now, Changed: changed, Synced: func() {}})
//	s.ApplyWrite("app-1", object("6"))
//	_ = s.Update(&unstructured.Unstructured{Object: object("5")}) // the watch lags
//	fmt.Println(s.Get(key).ResourceVersion)
//	// Output: 6
//
// The package sends no requests. Package cluster fills a Store from a watch, and from the responses to writes. Package
// store decides which state is newer, who has written an object since it was read, and how little memory it needs:
//
//	store.go               a Store, and how it is read; index.go finds objects
//	writes.go, events.go   what fills it: responses to writes, watch events, lists
//	writetracker.go        the recent writes of other clients; managedfields.go reads who wrote an object
//	object.go, packed.go   an object, compressed; dedup.go omits what it repeats of its Application
//	contents.go            decodes objects, and compresses them again after a new spec
//	recentcache.go         the last objects that left a watch
//
// A Store has a lock, and calls no function of Options while it holds it.
package store
