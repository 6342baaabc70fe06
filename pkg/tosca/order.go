package tosca

import (
	"container/heap"
	"slices"
	"strings"
)

// inOrder returns the node templates in an order in which each follows the nodes that it requires. Otherwise the order
// of the template is kept. If requirements form a loop, the nodes in it are missing. It reports a loop that contains a
// Kubernetes node. The controller creates objects in stages, and within a stage in this order. So a node whose host is
// a Namespace or a definition works in any order of the template, and a database precedes the server that requires it.
//
// It is the algorithm of Kahn, and takes n·log n time. Foreign nodes are sorted, too, because requirements lead through
// them.
func (t *model) inOrder() []*template {
	waits := make([]int, len(t.order))
	dependents := make([][]int, len(t.order))
	for _, n := range t.order {
		for _, r := range n.requirements {
			// Several requirements on one node count several times, in both tables.
			if r.to != nil {
				waits[n.index]++
				dependents[r.to.index] = append(dependents[r.to.index], n.index)
			}
		}
	}
	var ready indexHeap
	for i, count := range waits {
		if count == 0 {
			ready = append(ready, i) // ascending, which is a heap
		}
	}
	sorted := make([]*template, 0, len(t.order))
	for len(ready) > 0 {
		next := heap.Pop(&ready).(int)
		sorted = append(sorted, t.order[next])
		for _, i := range dependents[next] {
			if waits[i]--; waits[i] == 0 {
				heap.Push(&ready, i)
			}
		}
	}
	waiting := slices.DeleteFunc(slices.Clone(t.order), func(n *template) bool { return waits[n.index] == 0 })
	if slices.ContainsFunc(waiting, func(n *template) bool { return n.kubernetes }) {
		t.tellLoop(waits)
	}
	return sorted
}

// tellLoop follows the requirements of a waiting node until it reaches a node for the second time. It reports this
// loop. Only one loop is reported. Nodes that wait for a node in the loop are missing as well, but are not part of the
// message.
func (t *model) tellLoop(waits []int) {
	n := t.order[slices.IndexFunc(waits, func(count int) bool { return count > 0 })]
	var walked []*template
	for !slices.Contains(walked, n) {
		walked = append(walked, n)
		n = waitingFor(n, waits).to
	}
	walked = append(walked, n)
	names := collectNames(walked[slices.Index(walked, n):], func(n *template) string { return n.name })
	t.faults.add(waitingFor(n, waits).at, DependencyLoop, "requirements make a loop: %s", cutLoop(names))
}

// waitingFor returns the first requirement of a waiting node that has not been met. There is one, because the node
// waits.
func waitingFor(n *template, waits []int) requirement {
	first := slices.IndexFunc(n.requirements, func(r requirement) bool { return r.to != nil && waits[r.to.index] > 0 })
	return n.requirements[first]
}

// cutLoop formats a loop for a message. It omits the middle of a long one. The first and the last name are the same,
// and both remain.
func cutLoop(names []string) string {
	const most = 12
	if len(names) > most {
		names = append(append(slices.Clone(names[:most-2]), "…"), names[len(names)-1])
	}
	return strings.Join(names, " -> ")
}

// indexHeap is a heap of the positions of nodes that wait for no other node. The smallest position is first, which keeps
// the order of the template. A sorted list would take quadratic time for a template with many independent nodes.
type indexHeap []int

func (h indexHeap) Len() int           { return len(h) }
func (h indexHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h indexHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *indexHeap) Push(x any)        { *h = append(*h, x.(int)) }

func (h *indexHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
