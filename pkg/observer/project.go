package observer

import "holdfast.dev/holdfast/pkg/kinds"

// Project is the observed part of a live object, as lastObservedManifest
// stores it: every observed field that exists and nothing else, every list as
// its observed elements in the schema's order and then its live length. Fields with a
// rule are left out: nobody is to write a status each time that somebody uses the room
// which a rule leaves.
//
// Project never returns a field that is not in the live object, and projecting
// a projection changes nothing.
func (e *Entry) Project(t *kinds.Node, desired, live map[string]any) map[string]any {
	projected, _ := project(e.Root, t, desired, live).(map[string]any)
	metadata, ok := projected["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		projected["metadata"] = metadata
	}
	projected["apiVersion"] = e.APIVersion
	projected["kind"] = e.ID.Kind
	metadata["name"] = e.ID.Name
	if e.namespace != "" {
		metadata["namespace"] = e.namespace
	}
	return projected
}

func project(node *Node, t *kinds.Node, desired, live any) any {
	switch node.Shape {
	case Map:
		m, ok := live.(map[string]any)
		if !ok {
			return Copy(live)
		}
		want, _ := desired.(map[string]any)
		out := make(map[string]any, len(node.Fields))
		for _, f := range node.Fields {
			if v, ok := m[f.Name]; ok && f.Node.Rule == nil {
				out[f.Name] = project(f.Node, t.Field(f.Name), want[f.Name], v)
			}
		}
		return out
	case Sequence:
		l, ok := live.([]any)
		if !ok {
			return Copy(live)
		}
		l, length := withoutLength(l)
		want, _ := desired.([]any)
		p := node.List.Pair(t, want, l, len(want))
		out := make([]any, 0, len(p.Live)+1)
		for i, k := range p.Live {
			switch element := node.List.Elements[i]; {
			case k < 0:
			case element.IsPlace():
				out = append(out, map[string]any{})
			default:
				out = append(out, project(element, t.Elem(), at(want, i), l[k]))
			}
		}
		return append(out, map[string]any{KeyCurrentLength: length})
	default:
		return Copy(live)
	}
}

// withoutLength takes the length dictionary off a list that has been projected
// before.
func withoutLength(l []any) ([]any, int64) {
	if n := len(l); n > 0 {
		if last, ok := l[n-1].(map[string]any); ok && len(last) == 1 {
			if length, ok := integer(last[KeyCurrentLength]); ok {
				return l[:n-1], length
			}
		}
	}
	return l, int64(len(l))
}

// at is the element, or nil beyond the end.
func at(l []any, i int) any {
	if i < 0 || i >= len(l) {
		return nil
	}
	return l[i]
}
