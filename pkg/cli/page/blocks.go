package page

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/observer"
)

// block is a group of YAML lines of an object that belong to one field, or a line that belongs to none.
type block struct {
	text  []string
	field *explain.Field // nil for a parent of fields, or a field of the API server
}

// blocks returns an object as YAML, with the field to which each line belongs. It includes lines for desired
// fields that the object does not have. unset lists the observed fields without any value. object is not
// changed; the results refer to the elements of fields.
func blocks(object map[string]any, fields []explain.Field) (all []block, unset []*explain.Field) {
	// The key is the JSON Pointer of the value in the object, after missing fields were added.
	at := map[string]*explain.Field{}
	shown := missingFields{root: runtime.DeepCopyJSON(object), added: map[string]int{}}
	for i := range fields {
		f := &fields[i]
		pointer := f.LivePath().Pointer()
		switch value, wanted := absentValue(*f); {
		case wanted:
			pointer = shown.add(f.LivePath().Chain(), value)
		case !f.Live.Set:
			unset = append(unset, f)
			continue
		}
		at[pointer] = f
	}
	for _, line := range linesOf(shown.root) {
		field := fieldAt(at, line.pointer)
		if last := len(all) - 1; field != nil && last >= 0 && all[last].field == field {
			all[last].text = append(all[last].text, line.text)
			continue
		}
		all = append(all, block{[]string{line.text}, field})
	}
	return all, unset
}

// absentValue returns the value to show for a field that is not live: the desired value, or else the value in
// the manifest. It returns false if there is none.
func absentValue(f explain.Field) (any, bool) {
	switch {
	case f.Live.Set:
		return nil, false
	case f.Desired.Set:
		return f.Desired.Any, true
	default:
		return f.Manifest.Any, f.Manifest.Set
	}
}

// fieldAt returns the field at a JSON Pointer, or at its nearest parent; nil if there is none.
func fieldAt(at map[string]*explain.Field, pointer string) *explain.Field {
	for pointer != "" {
		if f := at[pointer]; f != nil {
			return f
		}
		pointer = pointer[:strings.LastIndexByte(pointer, '/')]
	}
	return nil
}

// missingFields is an object to which missing values are added.
type missingFields struct {
	// root is changed.
	root map[string]any
	// added contains the indexes of the added list elements, by the pointer of the list and the label of the
	// element.
	added map[string]int
}

// add adds a value with all its missing parents, and returns its JSON Pointer. It replaces a parent that has
// another type in the object.
func (d *missingFields) add(chain []*observer.Path, value any) (pointer string) {
	var in any = d.root
	put := func(any) {}
	for i, step := range chain {
		next := value
		if i+1 < len(chain) {
			next = emptyFor(chain[i+1])
		}
		if !step.IsElement() {
			fields, ok := in.(map[string]any)
			if !ok {
				fields = map[string]any{}
				put(fields)
			}
			if _, has := fields[step.Name()]; !has || i+1 == len(chain) {
				fields[step.Name()] = runtime.DeepCopyJSONValue(next)
			}
			name := step.Name()
			in, put, pointer = fields[name], func(v any) { fields[name] = v }, pointer+"/"+escaped.Replace(name)
			continue
		}
		list, _ := in.([]any)
		nth := d.place(pointer, step, len(list))
		if nth >= len(list) {
			nth, list = len(list), append(list, runtime.DeepCopyJSONValue(next))
			put(list)
		}
		in, put, pointer = list[nth], func(v any) { list[nth] = v }, pointer+"/"+strconv.Itoa(nth)
	}
	return pointer
}

// place returns the index of a list element in the object, or the index at which it is added.
func (d *missingFields) place(list string, step *observer.Path, end int) int {
	if step.Index() >= 0 {
		return step.Index()
	}
	key := list + " " + step.Label()
	if _, known := d.added[key]; !known {
		d.added[key] = end
	}
	return d.added[key]
}

// emptyFor returns an empty list or map, in which a path element can be added.
func emptyFor(step *observer.Path) any {
	if step.IsElement() {
		return []any{}
	}
	return map[string]any{}
}

// escaped escapes a key for a JSON Pointer (RFC 6901).
var escaped = strings.NewReplacer("~", "~0", "/", "~1")

// line is a line of YAML with the JSON Pointer of its value in the object.
type line struct{ text, pointer string }

// linesOf returns the lines of an object as YAML. Each line contains the pointer of the value that begins on
// it, or of the line above it.
func linesOf(object map[string]any) []line {
	text := strings.TrimRight(terminal.ObjectYAML(object), "\n")
	var lines []line
	for one := range strings.SplitSeq(text, "\n") {
		lines = append(lines, line{text: terminal.Visible(one)})
	}
	var document yaml.Node
	if yaml.Unmarshal([]byte(text), &document) != nil || len(document.Content) == 0 {
		return lines // does not happen, because linesOf has just written the YAML
	}
	locate(lines, document.Content[0], "")
	for i := range lines { // further lines of a string
		if lines[i].pointer == "" && i > 0 {
			lines[i].pointer = lines[i-1].pointer
		}
	}
	return lines
}

// locate sets the pointers of the lines on which values begin. If several values begin on one line, it sets
// the pointer of the innermost. node is at pointer in the object.
func locate(lines []line, node *yaml.Node, pointer string) {
	mark := func(number int, pointer string) {
		if number > 0 && number <= len(lines) && pointer != "" {
			lines[number-1].pointer = pointer
		}
	}
	mark(node.Line, pointer)
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			below := pointer + "/" + escaped.Replace(key.Value)
			mark(key.Line, below)
			if value.Kind == yaml.ScalarNode {
				continue // a string may begin on the line below its key
			}
			locate(lines, value, below)
		}
	case yaml.SequenceNode:
		for i, value := range node.Content {
			locate(lines, value, pointer+"/"+strconv.Itoa(i))
		}
	case yaml.ScalarNode, yaml.AliasNode, yaml.DocumentNode:
	}
}
