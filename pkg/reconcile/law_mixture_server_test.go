package reconcile_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/observertest"
	kubernetes "holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// oneObject is an API server with one object of a generated kind.
type oneObject struct {
	*cluster
	id       manifest.ID
	spec     *part
	managers *observertest.Managers
	sent     []string // requests of the controller
	// wrote is called with every write of a client that changes the object; nil for none.
	wrote func(manager string, before, after map[string]any)
}

// object returns the stored object.
func (o *oneObject) object() map[string]any { return o.server.objects[o.id] }

// live returns the stored spec.
func (o *oneObject) live() map[string]any {
	spec, _ := get(o.object(), "spec").(map[string]any)
	return spec
}

// admits returns the object that the API server would store, or a 422.
func (o *oneObject) admits(before, after map[string]any) (map[string]any, error) {
	spec, _ := after["spec"].(map[string]any)
	var was map[string]any
	if before != nil {
		was = before["spec"].(map[string]any)
	}
	served, refused := o.spec.admit(was, mapOf(spec))
	if len(refused) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: o.id.Group, Kind: o.id.Kind}, o.id.Name, refused)
	}
	after = observer.CopyMap(after)
	after["spec"] = served
	return after, nil
}

// allows reports whether the API server accepts the update of a spec.
func (o *oneObject) allows(before, after map[string]any) bool {
	_, refused := o.spec.admit(before, after)
	return len(refused) == 0
}

// write stores an object as a client has sent it. It ignores a write that changes nothing.
func (o *oneObject) write(manager string, after map[string]any, dry bool) (map[string]any, error) {
	before := o.object()
	stored, err := o.admits(before, after)
	switch {
	case err != nil:
		return nil, err
	case dry, before != nil && observer.Equal(before, stored):
		return o.answer(before), nil
	}
	if before == nil {
		set(stored, "default", "metadata", "namespace")
		set(stored, "u1", "metadata", "uid")
	}
	if err := o.managers.Update(before, stored, manager, o.now); err != nil {
		o.fail("managedFields: %v", err)
	}
	o.store(manager, stored)
	return o.answer(stored), nil
}

// store stores an object that a client has written.
func (o *oneObject) store(manager string, stored map[string]any) {
	if o.wrote != nil {
		o.wrote(manager, o.object(), stored)
	}
	o.server.serial++
	o.server.writes++
	set(stored, fmt.Sprint(o.server.serial), "metadata", "resourceVersion")
	o.server.objects[o.id] = stored
	o.server.emit(o.id, stored, false)
}

// answer returns an object with its managedFields.
func (o *oneObject) answer(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	return o.server.answer(object)
}

// oneTarget sends the requests of the controller to the object.
type oneTarget struct {
	target
	at *oneObject
}

func (t oneTarget) Get(context.Context, kubernetes.Location) (map[string]any, error) {
	defer t.guard()
	t.at.note("get")
	t.at.sent = append(t.at.sent, "get")
	if t.at.object() == nil {
		return nil, apierrors.NewNotFound(resourceOf(t.at.id), t.at.id.Name)
	}
	return t.at.answer(t.at.object()), nil
}

func (t oneTarget) Create(_ context.Context, _ kubernetes.Location, body map[string]any) (map[string]any, error) {
	defer t.guard()
	if t.at.object() != nil {
		return nil, apierrors.NewAlreadyExists(resourceOf(t.at.id), t.at.id.Name)
	}
	object, err := t.at.write(t.at.manager(), body, false)
	t.at.sends("create", jsonOf(body["spec"]), err)
	return object, err
}

func (t oneTarget) Patch(_ context.Context, _ kubernetes.Location, ops any) (map[string]any, error) {
	defer t.guard()
	return t.at.patch("patch", ops, false)
}

func (t oneTarget) TryPatch(_ context.Context, _ kubernetes.Location, ops any) error {
	defer t.guard()
	_, err := t.at.patch("dry run", ops, true)
	return err
}

func (t oneTarget) Delete(context.Context, kubernetes.Location, string, string) (map[string]any, error) {
	defer t.guard()
	t.at.fail("the object is deleted")
	return nil, nil
}

func (o *oneObject) patch(verb string, ops any, dry bool) (object map[string]any, err error) {
	after, applies := patched(o.object(), ops)
	if !applies {
		err = errGuard()
	} else {
		object, err = o.write(o.manager(), after, dry)
	}
	o.sends(verb, withoutTests(ops), err)
	return object, err
}

// sends records a request.
func (o *oneObject) sends(verb, what string, err error) {
	answer := "accepted"
	if err != nil {
		answer = err.Error()
	}
	o.sent = append(o.sent, verb)
	o.note("%s %s: %s", verb, what, answer)
}

// withoutTests returns a patch as text, without its tests and without tracking metadata.
func withoutTests(ops any) string {
	var all []map[string]any
	decode(ops, &all)
	all = slices.DeleteFunc(all, func(op map[string]any) bool {
		return op["op"] == "test" || strings.HasPrefix(op["path"].(string), "/metadata/")
	})
	return jsonOf(all)
}

// generated adds the generated kind to the known kinds.
type generated struct {
	intent.Kinds
	node *kinds.Node
}

func (k generated) Type(gvk schema.GroupVersionKind) *kinds.Node {
	if gvk == observertest.GVK {
		return k.node
	}
	return k.Kinds.Type(gvk)
}

func typeOf(spec *part) *kinds.Node {
	return kinds.FromCRD(map[string]any{"spec": map[string]any{
		"group": observertest.GVK.Group, "names": map[string]any{"kind": observertest.GVK.Kind},
		"versions": []any{map[string]any{"name": observertest.GVK.Version, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": spec.openAPI()}},
		}}},
	}}, observertest.GVK)
}

// names returns the names of the fields at and below a value.
func names(value any) (found []string) {
	switch v := value.(type) {
	case map[string]any:
		found = slices.Sorted(maps.Keys(v))
		for _, child := range v {
			found = append(found, names(child)...)
		}
	case []any:
		for _, child := range v {
			found = append(found, names(child)...)
		}
	}
	return found
}
