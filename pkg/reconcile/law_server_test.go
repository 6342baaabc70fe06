package reconcile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// apiServer is a small cluster with the rules of a real one. Names are unique. The tests in a patch and the
// UID of a delete are preconditions. Finalizers block deletion. The library of the API server maintains
// managedFields.
type apiServer struct {
	observertest.Server
	// objects do not contain managedFields, which are only added to responses.
	objects map[manifest.ID]map[string]any
	// theirs contains the fields that other clients wrote, by UID, as FieldsV1.
	theirs map[string]map[string]any
	// managers contains the managedFields, by UID.
	managers map[string]*observertest.Managers
	// events contains all changes of an object.
	events map[manifest.ID][]event
	now    func() time.Time
	serial int
	writes int
	// taken contains the addresses that are in use, and refused the immutable fields.
	taken   map[any]bool
	refused map[string]bool
	// judge is called with every write of the controller, before it is executed.
	judge func(verb string, id manifest.ID, before, after map[string]any)
	// admitted is called with every object that is stored.
	admitted func(id manifest.ID, object map[string]any)
}

// errDead is the error of every request that a dead process sends.
var errDead = errors.New("the process is dead")

// errLost replaces a response that was lost.
var errLost = errors.New("the connection is lost")

func errServer() error { return apierrors.NewInternalError(errors.New("it stumbled")) }

func errForbidden(id manifest.ID) error {
	return apierrors.NewForbidden(resourceOf(id), id.Name, errors.New(`User "deployer" cannot patch resource "things"`))
}

// errRefused returns a 422 of the validation. errGuard returns a 422 of the patch itself.
func errRefused(id manifest.ID) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: id.Group, Kind: id.Kind}, id.Name, field.ErrorList{field.Forbidden(field.NewPath("spec"), "no")})
}

func errGuard() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid}}
}

func resourceOf(id manifest.ID) schema.GroupResource {
	return schema.GroupResource{Group: id.Group, Resource: id.Kind}
}

func (s *apiServer) get(id manifest.ID) (map[string]any, error) {
	object := s.objects[id]
	if object == nil {
		return nil, apierrors.NewNotFound(resourceOf(id), id.Name)
	}
	return s.answer(object), nil
}

// answer returns an object with its managedFields.
func (s *apiServer) answer(object map[string]any) map[string]any {
	object = observer.CopyMap(object)
	set(object, s.managers[uidOf(object)].List(), "metadata", "managedFields")
	return object
}

func (s *apiServer) create(id manifest.ID, body map[string]any, manager string) (map[string]any, error) {
	if s.objects[id] != nil {
		return nil, apierrors.NewAlreadyExists(resourceOf(id), id.Name)
	}
	if s.taken[get(body, "spec", "vip")] {
		return nil, errRefused(id)
	}
	s.judge("create", id, nil, body)
	return s.answer(s.born(id, body, manager)), nil
}

// born creates an object for a client.
func (s *apiServer) born(id manifest.ID, body map[string]any, manager string) map[string]any {
	object := observer.CopyMap(body)
	set(object, id.Name, "metadata", "name")
	set(object, id.Namespace, "metadata", "namespace")
	s.serial++
	set(object, fmt.Sprintf("u%d", s.serial), "metadata", "uid")
	s.store(id, object, manager)
	return s.objects[id]
}

// store stores an object that a client has written, or removes it if no finalizer blocks the deletion any
// more. Without a manager, only the status was written.
func (s *apiServer) store(id manifest.ID, object map[string]any, manager string) {
	s.writes++
	switch id.Kind {
	case "Thing":
		spec, _ := object["spec"].(map[string]any)
		if spec == nil {
			spec = map[string]any{}
		}
		s.Serve(spec)
		if _, has := spec["vip"]; !has {
			s.serial++
			spec["vip"] = fmt.Sprintf("10.0.0.%d", s.serial)
		}
		object["spec"] = observertest.WithoutEmptyLists(spec)
	default:
		if _, has := object["type"]; !has {
			object["type"] = "Opaque"
		}
	}
	s.serial++
	set(object, fmt.Sprint(s.serial), "metadata", "resourceVersion")
	finalizers, _ := get(object, "metadata", "finalizers").([]any)
	if get(object, "metadata", "deletionTimestamp") != nil && len(finalizers) == 0 {
		s.remove(id)
		return
	}
	s.manage(s.objects[id], object, manager)
	s.objects[id] = object
	s.emit(id, object, false)
	s.admitted(id, object)
}

// remove removes an object immediately.
func (s *apiServer) remove(id manifest.ID) {
	if object := s.objects[id]; object != nil {
		delete(s.objects, id)
		s.serial++
		s.emit(id, object, true)
	}
}

// patch applies a JSON Patch. A dry run only reports whether the patch would succeed.
func (s *apiServer) patch(id manifest.ID, ops any, dry bool, manager string) (map[string]any, error) {
	before := s.objects[id]
	if before == nil {
		return nil, apierrors.NewNotFound(resourceOf(id), id.Name)
	}
	after, ok := patched(before, ops)
	switch {
	case !ok:
		return nil, errGuard()
	case slices.ContainsFunc(pointersOf(ops), func(pointer string) bool { return s.refused[id.String()+pointer] }):
		return nil, errRefused(id)
	case dry:
		return nil, nil
	}
	s.judge("patch", id, before, after)
	s.store(id, after, manager)
	return s.answer(s.objects[id]), nil
}

func patched(object map[string]any, ops any) (map[string]any, bool) {
	raw, err := json.Marshal(ops)
	if err != nil {
		panic(err)
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		panic(err)
	}
	document, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	if document, err = patch.Apply(document); err != nil {
		return nil, false
	}
	after, err := manifest.DecodeJSON(document)
	return after, err == nil
}

// pointersOf returns the fields that a patch changes.
func pointersOf(ops any) []string {
	raw, err := json.Marshal(ops)
	if err != nil {
		panic(err)
	}
	var decoded []struct{ Op, Path string }
	if err := json.Unmarshal(raw, &decoded); err != nil {
		panic(err)
	}
	var pointers []string
	for _, op := range decoded {
		if op.Op != "test" {
			pointers = append(pointers, op.Path)
		}
	}
	return pointers
}

// delete returns the remaining object, or nil if it was removed. uid and version are preconditions.
func (s *apiServer) delete(id manifest.ID, uid, version string) (map[string]any, error) {
	object := s.objects[id]
	switch {
	case object == nil:
		return nil, nil
	case uid != "" && uidOf(object) != uid, version != "" && get(object, "metadata", "resourceVersion") != version:
		return nil, apierrors.NewConflict(resourceOf(id), id.Name, nil)
	}
	s.judge("delete", id, object, nil)
	s.end(id)
	if left := s.objects[id]; left != nil {
		return s.answer(left), nil
	}
	return nil, nil
}

// end deletes an object, unless finalizers block the deletion.
func (s *apiServer) end(id manifest.ID) {
	if object := s.objects[id]; object != nil && get(object, "metadata", "deletionTimestamp") == nil {
		object = observer.CopyMap(object)
		set(object, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
		s.store(id, object, "")
	}
}

// manage records the changes of a client in managedFields.
func (s *apiServer) manage(before, after map[string]any, manager string) {
	uid := uidOf(after)
	m := s.managers[uid]
	if m == nil {
		m = s.NewManagers()
		s.managers[uid] = m
	}
	if manager == "" {
		return
	}
	if err := m.Update(before, after, manager, s.now()); err != nil {
		panic(err)
	}
}

// edit changes an object as another client.
func (s *apiServer) edit(id manifest.ID, change func(object map[string]any)) {
	before := s.objects[id]
	after := observer.CopyMap(before)
	change(after)
	s.store(id, after, "somebody")
	uid := uidOf(before)
	if s.theirs[uid] == nil {
		s.theirs[uid] = map[string]any{}
	}
	recordFields(s.theirs[uid], before, s.objects[id])
}

// recordFields adds the changed fields to a set of fields. Lists are written as a whole.
func recordFields(fields, before, after map[string]any) {
	for name, is := range after {
		was, had := before[name]
		if name == "resourceVersion" || had && observer.Equal(was, is) {
			continue
		}
		child, _ := fields["f:"+name].(map[string]any)
		if child == nil {
			child = map[string]any{}
			fields["f:"+name] = child
		}
		if m, isMap := is.(map[string]any); isMap {
			old, _ := was.(map[string]any)
			recordFields(child, old, m)
		}
	}
}

func (s *apiServer) ids() []manifest.ID { return sortedIDs(maps.Keys(s.objects)) }

func uidOf(object map[string]any) string {
	uid, _ := get(object, "metadata", "uid").(string)
	return uid
}

func labelOf(object map[string]any) string {
	label, _ := get(object, "metadata", "labels", v1alpha1.LabelApplicationUID).(string)
	return label
}
