package observer

// DroppedNulls returns the paths of the leaves that a client dropped. sent is the schema that the user
// wrote, from the annotation of a client-side apply. stored is the schema that the API server has. kubectl
// apply drops every null inside a map.
//
// It returns nil if the two differ in more than nulls. The annotation then belongs to an older version of
// the Application.
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
			findLost(path.Element(positionLabel(i), -1), s[i], elementAt(l, i), lost)
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
