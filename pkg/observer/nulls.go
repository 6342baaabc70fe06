package observer

// DroppedNulls returns the paths of the leaves that a client lost on the way:
// sent is the schema as the user wrote it (from the annotation that a client-side
// apply leaves behind), stored the schema as it arrived. kubectl apply drops
// every null inside a map.
//
// It returns nothing if the two differ in more than nulls: the annotation is
// then of an older version of the Application and says nothing about this one.
func DroppedNulls(sent, stored []any) []string {
	if !Equal(withoutNulls(sent), withoutNulls(stored)) {
		return nil
	}
	var lost []string
	findLost(nil, sent, stored, &lost)
	return lost
}

func findLost(path *Path, sent, stored any, lost *[]string) {
	switch s := sent.(type) {
	case map[string]any:
		m, _ := stored.(map[string]any)
		for _, name := range sortedKeys(s) {
			v, arrived := m[name]
			if s[name] == nil && !arrived {
				*lost = append(*lost, path.Field(name).String())
				continue
			}
			findLost(path.Field(name), s[name], v, lost)
		}
	case []any:
		l, _ := stored.([]any)
		for i := range s {
			findLost(path.Element(positionLabel(i), -1), s[i], at(l, i), lost)
		}
	}
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, child := range v {
			if child != nil {
				out[name] = withoutNulls(child)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, child := range v {
			out[i] = withoutNulls(child)
		}
		return out
	default:
		return v
	}
}
