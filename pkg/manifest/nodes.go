package manifest

import "go.yaml.in/yaml/v3"

// Entry returns the key and the value of a field of a map. A written key has precedence over keys from merge keys, and
// an earlier merge over a later one. The caller has limited the depth of merges. It returns nil for both if the map
// does not have the key. mapping must be a map, and not an alias of one.
func Entry(mapping *yaml.Node, key string) (name, value *yaml.Node) {
	merges := false
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		switch name := mapping.Content[i]; {
		case IsMerge(name):
			merges = true
		case Target(name).Value == key:
			return name, mapping.Content[i+1]
		}
	}
	if !merges {
		return nil, nil
	}
	for _, source := range MergeSources(mapping) {
		if name, value := Entry(source, key); name != nil {
			return name, value
		}
	}
	return nil, nil
}

// MergeSources returns the maps that << merges into a map, in order of precedence. Elements of a list are not checked,
// so a source can be no map. It returns nil without merge keys.
func MergeSources(mapping *yaml.Node) (sources []*yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if !IsMerge(mapping.Content[i]) {
			continue
		}
		value := Target(mapping.Content[i+1])
		if value.Kind == yaml.MappingNode {
			sources = append(sources, value)
		}
		if value.Kind == yaml.SequenceNode {
			for _, element := range value.Content {
				sources = append(sources, Target(element))
			}
		}
	}
	return sources
}

// IsMerge reports whether a key is the plain <<. In quotes, it is a key like any other.
func IsMerge(name *yaml.Node) bool {
	return name.Kind == yaml.ScalarNode && name.Tag == TagMerge && name.Value == "<<"
}

// Target returns the node that an alias refers to, or the node itself. An alias of an alias does not exist in YAML, but
// a node can be built by a program.
func Target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}
