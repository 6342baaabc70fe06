package delta

import (
	"slices"

	"holdfast.dev/holdfast/pkg/observer"
)

// listCursor is one list of the walk. It keeps the state of the comparison of this list: first the elements are
// matched, then some are removed, and at last some are added.
type listCursor struct {
	cursor
	list *observer.List
	// pairing matches the elements of the schema with live elements by keys, values or positions.
	pairing observer.Pairing
	// wantList is the desired list: the manifest's elements, and then learned ones.
	wantList, liveList []any
	// writtenList is the list in the manifest, beforeList that in the previous desired state.
	writtenList []any
	beforeList  []any
	// at lists the live index of each element of the desired list, or -1. It starts as the pairing;
	// matchRenamed adds to it.
	at       []int
	free     []int        // live elements that match no schema element
	claimed  []int        // like free, but with claimed fields: see Input.Claimed
	replaced []int        // free elements that have the previous keys of a missing element
	renamed  []int        // elements to remove, because another client has changed the keys of a missing element
	length   int          // of the live list during the correction
	order    []int        // see inOrder
	added    map[int]bool // the visited elements of the desired list that are added; nil without a visitor
}

// mustBeThere reports whether element i must exist: it is required, and the API server does not drop it.
func (c listComparer) mustBeThere(l *listCursor, i int, path *observer.Path) bool {
	return required(l.list, i, l.writtenList) && !formFinder(c).accepted(path, l.t.Elem(), Item(l.wantList, i), Value{})
}

// required reports whether an element of the desired list must exist: the schema observes part of it, and it
// is not learned.
func required(list *observer.List, i int, written []any) bool {
	if i >= len(list.Elements) || i >= len(written) {
		return false
	}
	return !list.Elements[i].IsPlaceholder()
}

// absentElements returns the elements to write to a list that is missing: the required elements, the elements
// before them if only position identifies elements, and more elements until the minimum holds.
func absentElements(s cursor, want []any) map[int]bool {
	list := s.node.List
	written, _ := s.written.Any.([]any)
	take := make(map[int]bool, len(want))
	byPosition := !list.ByIdentity(s.t)
	for i := len(want) - 1; i >= 0; i-- {
		// From the end, so that an element without keys is taken if a later one is.
		if required(list, i, written) || len(take) > 0 && byPosition {
			take[i] = true
		}
	}
	for i := range want {
		if len(take) < list.Min {
			take[i] = true
		}
	}
	return take
}

// keyTestsAt returns the key tests of the list, and those that the element at a live index is still the same element.
// There are none for an element without keys.
func (l *listCursor) keyTestsAt(path *observer.Path, k int) []keyTest {
	m, _ := l.liveList[k].(map[string]any)
	tests := slices.Clip(l.keyTests) // so that append copies: the elements share those of the list
	for _, key := range l.pairing.Keys {
		if v, ok := m[key]; ok {
			tests = append(tests, keyTest{path, key, v})
		}
	}
	return tests
}

// elementAt returns the cursor of element i of the schema, and its live index or -1.
func (l *listCursor) elementAt(i int) (at cursor, k int) {
	// at also contains the elements that were matched with other keys.
	if k = l.pairing.Live[i]; i < len(l.wantList) {
		k = l.at[i]
	}
	return cursor{
		node: l.list.Elements[i], t: l.t.Elem(), path: l.path.Element(l.pairing.Label(i), k).Desired(i),
		desired: Item(l.wantList, i), live: Item(l.liveList, k), written: Item(l.writtenList, i),
		keyTests: l.keyTests, inStatus: l.inStatus, loose: l.loose || l.pairing.ByPosition || l.pairing.Aligned, exact: l.exact || l.pairing.Repeats(i),
	}, k
}

// isOpenSet reports whether each element is held by its whole value, and other clients can add elements.
func (l *listCursor) isOpenSet() bool { return l.list.ByValue && l.list.Open }

// isWhole reports whether a held element was found by its whole value. The API server can have added fields.
func (l *listCursor) isWhole(at cursor) bool {
	isSet := len(l.pairing.Keys) == 0 && !l.pairing.ByPosition && !l.pairing.Aligned
	return isSet && at.node.IsHeld() && observer.Completes(at.live.Any, at.desired.Any)
}
