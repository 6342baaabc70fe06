package observer

import (
	"fmt"
	"slices"
)

// controlExample returns an example of a control dictionary for a list with that many elements.
func controlExample(elements int) string {
	return fmt.Sprintf("{%s: %d, %s: 0}", KeyMinLength, elements, KeyMaxLength)
}

// control reads the dictionary that ends a list with that many elements. It never returns nil. KeyCurrentLength is
// ignored, because only a projection has it. sequence reads KeyKeys.
//
//	{observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}    at least one element
//	{…, observer_schema_list_map_keys: [name]}                                  found by name
//	{…, observer_schema_list_map_keys: value}                                   found by value
//
// It reports each error, and continues with 0 or without keys.
func (p *parser) control(path *Path, m map[string]any, elements int) *List {
	list := &List{Min: p.length(path, m, KeyMinLength), Max: p.length(path, m, KeyMaxLength)}
	for _, name := range sortedKeys(m) {
		switch name {
		case KeyMinLength, KeyMaxLength, KeyCurrentLength, KeyKeys:
		case KeyMapKeys:
			if list.ByValue = m[name] == ByValueText; !list.ByValue {
				list.Keys = p.mapKeys(path.Field(name), m[name])
			}
		default:
			p.fault(path.Field(name), "is not a key of the control dictionary")
		}
	}
	if list.Max != 0 && list.Max < list.Min {
		p.fault(path.Field(KeyMaxLength), "is %d, less than %s %d; 0 means no upper limit", list.Max, KeyMinLength, list.Min)
	}
	if list.Max != 0 && list.Max < elements {
		p.fault(path.Field(KeyMaxLength), "is %d, less than the %d elements before it; 0 means no upper limit", list.Max, elements)
	}
	return list
}

// length reads a required list length. It returns 0 after an error. Lengths are limited to int32, so a sum of lengths
// cannot overflow.
func (p *parser) length(path *Path, m map[string]any, name string) int {
	v, ok := m[name]
	if !ok {
		p.fault(path.Field(name), "is missing: it must be an integer, 0 or more")
		return 0
	}
	n, ok := integer(v)
	if !ok || n < 0 || n > 1<<31-1 {
		p.fault(path.Field(name), "must be an integer, 0 or more, not %s", p.describe(v))
		return 0
	}
	return int(n)
}

// mapKeys reads the list-map keys, in their order. It returns nil after an error.
func (p *parser) mapKeys(path *Path, raw any) []string {
	l, ok := raw.([]any)
	if !ok || len(l) == 0 {
		p.fault(path, "must be a list of field names")
		return nil
	}
	var keys []string
	for _, v := range l {
		s, ok := v.(string)
		if !ok || s == "" || slices.Contains(keys, s) {
			p.fault(path, "must be a list of different field names")
			return nil
		}
		keys = append(keys, s)
	}
	return keys
}
