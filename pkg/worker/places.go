package worker

import (
	"slices"
	"sync"
	"time"
)

const (
	// longAfter is the time after which a key counts as long-running.
	longAfter = time.Second
	// maxLong is the number of long-running keys of a group that give their places away.
	maxLong = 4
)

// turns is a queue of keys in which groups take turns. The keys of one group keep their order, and one group alone has
// all turns. It implements workqueue.Queue, which guards it.
type turns[K comparable] struct {
	group   func(K) string
	waiting map[string][]K
	order   []string // the groups with waiting keys, the next one first
	length  int
}

func (t *turns[K]) Touch(K) {}

func (t *turns[K]) Len() int { return t.length }

func (t *turns[K]) Push(key K) {
	name := t.group(key)
	if len(t.waiting[name]) == 0 {
		t.order = append(t.order, name)
	}
	t.waiting[name] = append(t.waiting[name], key)
	t.length++
}

func (t *turns[K]) Pop() K {
	name := t.order[0]
	t.order = t.order[1:]
	keys := t.waiting[name]
	key := keys[0]
	if t.length--; len(keys) == 1 {
		delete(t.waiting, name)
		return key
	}
	t.waiting[name], t.order = keys[1:], append(t.order, name)
	return key
}

// places are the places of the workers of a loop. A key that runs longer than longAfter gives its place to a new worker,
// because it usually waits for a server. So a group whose requests hang does not stop the others. A group has at most
// maxLong such keys. If it has them, its other keys leave a quarter of the places to other groups, and wait.
type places[K comparable] struct {
	group func(K) string
	// limit is the number of places, and start begins another worker.
	limit int
	start func()

	// mu guards the fields below, and the tasks.
	mu     sync.Mutex
	taken  int
	groups map[string]*group[K]
}

// group lists the keys of a group that run for a long time, and those that wait for them. It is removed when it has
// none.
type group[K comparable] struct {
	// running is the number of its keys that are handled, and long the number of those that gave their places away.
	running, long int
	// late are the long-running tasks that still have their places, the oldest first.
	late []*task[K]
	// parked are keys that wait. They were taken from the queue, so that the workers can take keys of other groups.
	parked []K
}

// task is the handling of a key.
type task[K comparable] struct {
	name string
	*group[K]
	timer *time.Timer
	ended bool
	// gaveAway is true after the task gave its place to a new worker.
	gaveAway bool
}

// begin returns the task of a key that a worker took from the queue. It returns nil if the key has to wait: another task
// returns it from end.
func (p *places[K]) begin(key K) *task[K] {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := p.group(key)
	g := p.groups[name]
	if g == nil {
		g = &group[K]{}
		p.groups[name] = g
	}
	if g.long == maxLong && !p.isRoom() {
		g.parked = append(g.parked, key)
		return nil
	}
	p.taken++
	g.running++
	t := &task[K]{name: name, group: g}
	t.timer = time.AfterFunc(longAfter, func() { p.isLong(t) })
	return t
}

// isRoom reports whether a group with maxLong long-running keys can take another place.
func (p *places[K]) isRoom() bool { return p.taken < p.limit-max(1, p.limit/4) }

// isLong gives the place of a long-running task away.
func (p *places[K]) isLong(t *task[K]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case t.ended:
	case t.long == maxLong:
		t.late = append(t.late, t)
	default:
		p.giveAway(t)
	}
}

// giveAway starts another worker in place of the one that handles a task. The task is running, so its worker keeps the
// loop from ending.
func (p *places[K]) giveAway(t *task[K]) {
	t.gaveAway = true
	t.long++
	p.taken--
	p.start()
}

// end ends a task. If another key of the group waited, it returns the key, which the same worker has to handle, with its
// task. Otherwise, it reports whether the worker still has its place.
func (p *places[K]) end(t *task[K]) (key K, next *task[K], hasPlace bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.timer.Stop()
	t.late = slices.DeleteFunc(t.late, func(other *task[K]) bool { return other == t })
	if len(t.parked) > 0 && (t.gaveAway || p.isRoom()) {
		key, t.parked = t.parked[0], t.parked[1:]
		if !t.gaveAway {
			t.timer.Reset(longAfter)
		}
		return key, t, !t.gaveAway
	}
	t.ended = true
	t.running--
	switch {
	case !t.gaveAway:
		p.taken--
	case len(t.late) > 0:
		other := t.late[0]
		t.long, t.late = t.long-1, t.late[1:]
		p.giveAway(other)
	default:
		t.long--
	}
	if t.running == 0 {
		delete(p.groups, t.name)
	}
	return key, nil, !t.gaveAway
}
