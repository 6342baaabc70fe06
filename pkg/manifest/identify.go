package manifest

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// refuseList rejects a manifest that is a list of objects, and reports whether it did. Other errors would only confuse
// then. Commands that read files expand lists with Expand. The API has a list already, so a list in it is a mistake.
func (d *draft) refuseList() bool {
	if !isList(d.content) {
		return false
	}
	d.fault(nil, "is a list of objects: put its items into spec.manifest")
	return true
}

// identify sets the identity of the manifest's object, including its namespace. After an error, the identity remains
// zero. d.kind is set even if the name is invalid, so that the rules of the kind can report further errors.
func (d *draft) identify() {
	faults := len(d.faults)
	kind := schema.GroupKind{Group: d.readGroup(), Kind: d.readKind()}
	if len(d.faults) == faults {
		d.kind = kind
	}
	if metadata := d.content["metadata"]; metadata != nil && d.metadata() == nil {
		d.fault(Path{"metadata"}, "must be a map, not "+Describe(metadata))
		return
	}
	name, namespace := d.readName(), d.readNamespace()
	if len(d.faults) > faults {
		return
	}
	d.id = ID{Group: kind.Group, Kind: kind.Kind, Name: name}
	d.setNamespace(namespace)
}

// setNamespace sets the namespace. An unknown kind counts as namespaced.
//
//	kind              the manifest sets it     identity              content
//	namespaced        yes                      its namespace         unchanged
//	namespaced        no                       the Application's     no namespace
//	cluster-scoped    yes                      none                  dropped, with a warning
//	unknown           any                      as for a namespaced one
func (d *draft) setNamespace(namespace string) {
	if namespaced, known := d.Scopes.Namespaced(d.kind); known && !namespaced {
		if namespace != "" {
			d.warn(Path{"metadata", "namespace"}, "dropped: "+d.kind.Kind+" is cluster-scoped")
		}
		delete(d.metadata(), "namespace")
		return
	}
	// The content is not changed: a namespace that the user does not set is not one of the fields that are
	// held by default.
	if namespace == "" {
		namespace = d.Application.Namespace
		delete(d.metadata(), "namespace")
	}
	d.id.Namespace = namespace
}

// readGroup returns the group of apiVersion. It accepts only the canonical form, so that one object has one ID. The
// parser also accepts /v1 and v1/, which are no apiVersion of any object.
func (d *draft) readGroup() string {
	apiVersion := d.text(d.content["apiVersion"], "apiVersion")
	gv, err := schema.ParseGroupVersion(apiVersion)
	switch {
	case apiVersion == "":
	case err != nil, gv.String() != apiVersion, !isGroup(gv.Group), !isLabel(gv.Version):
		d.fault(Path{"apiVersion"}, "must be a group and version like apps/v1, or v1 for the core group")
	}
	return gv.Group
}

// isGroup and isLabel are stricter than the parsers, because both values become parts of URLs.
func isGroup(group string) bool {
	return group == "" || len(validation.IsDNS1123Subdomain(group)) == 0
}

// isLabel reports whether a string is a DNS label, as versions, kinds and namespaces are.
func isLabel(text string) bool {
	return len(validation.IsDNS1123Label(text)) == 0
}

// readKind returns the kind, or "" after an error about a missing one.
func (d *draft) readKind() string {
	kind := d.text(d.content["kind"], "kind")
	if kind != "" && !isLabel(strings.ToLower(kind)) {
		d.fault(Path{"kind"}, "must be letters and digits, like Deployment")
	}
	return kind
}

// readName returns the name. It checks only the rule for all kinds; the API server checks the rule of the kind. The
// name must be a single segment of a URL path: it is not "." or "..", and has neither / nor %.
func (d *draft) readName() string {
	if d.metadata()["name"] == nil && d.metadata()["generateName"] != nil {
		d.fault(Path{"metadata", "generateName"}, "would create another object each time: give the object a metadata.name")
		return ""
	}
	name := d.text(d.metadata()["name"], "metadata", "name")
	for _, problem := range content.IsPathSegmentName(name) {
		d.fault(Path{"metadata", "name"}, problem)
	}
	return name
}

// readNamespace returns the namespace, or "" if the manifest has none. "" and null mean that it has none. The namespace
// is a label, and not checked for existence: the Application can create it.
func (d *draft) readNamespace() string {
	value := d.metadata()["namespace"]
	if value == nil || value == "" {
		return ""
	}
	namespace := d.text(value, "metadata", "namespace")
	if namespace != "" && !isLabel(namespace) {
		d.fault(Path{"metadata", "namespace"}, "must be lower-case letters, digits and '-', at most 63 of them")
	}
	return namespace
}

// text returns the string value of a required field. If it is missing, text adds an error and returns "".
//
//	apiVersion: 1     must be text, not a number: put it in quotes
//	apiVersion: ""    is empty
//	(absent)          is missing
func (f *findings) text(value any, at ...any) string {
	text, isText := value.(string)
	if text != "" {
		return text
	}
	switch {
	case value == nil:
		f.fault(at, "is missing")
	case !isText:
		f.fault(at, mustBeText(value))
	default:
		f.fault(at, "is empty")
	}
	return ""
}

// mustBeText returns the message for a value that is not a string. YAML reads an unquoted number or yes as another
// type. For example, the label version: 1.10 would become 1.1 without quotes.
func mustBeText(value any) string {
	message := "must be text, not " + Describe(value)
	switch value.(type) {
	case bool, int64, float64:
		message += ": put it in quotes"
	}
	return message
}

// metadata returns the metadata map, or nil if it is missing or not a map.
func (d *draft) metadata() map[string]any {
	return NestedMap(d.content, "metadata")
}

// checkTwin reports whether a manifest is identical to a previous one, and warns about it. It rejects a different
// manifest for the same object, even in another version. firsts contains the first manifest of each object, and gets
// this one if it is the first. An object without an identity is compared with none, because its errors are reported
// already.
func (d *draft) checkTwin(firsts map[ID]*draft) bool {
	if d.id == (ID{}) {
		return false
	}
	first, twice := firsts[d.id]
	if !twice {
		firsts[d.id] = d
		return false
	}
	there := fieldOrDefault(d.Field).with(first.position)
	// takeOwnership has removed the ownership from the content, but it decides whether the object is deleted.
	if d.ownership == first.ownership && reflect.DeepEqual(d.content, first.content) {
		d.warn(nil, fmt.Sprintf("is identical to %s, and is used once: remove one of them", there))
		return true
	}
	d.fault(nil, fmt.Sprintf("is the same object as %s (%s here, %s there), but not identical: remove one of them",
		there, d.content["apiVersion"], first.content["apiVersion"]))
	return false
}
