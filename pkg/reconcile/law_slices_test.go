package reconcile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/slice"
)

var sliceResource = schema.GroupResource{Resource: v1alpha1.SliceResource}

// status returns the stored status of the Application, joined from its slices.
func (c *cluster) status() v1alpha1.ApplicationStatus {
	c.r.Helper()
	whole, err := slice.Join(c.app, func(name string) ([]byte, error) {
		if c.data[name] == nil {
			return nil, &slice.Unavailable{Name: name}
		}
		return c.data[name], nil
	})
	if err != nil {
		c.fail("what is stored cannot be put together: %v", err)
	}
	return whole.Status
}

// slicesHome presents the model as the API server that stores the slices.
type slicesHome struct{ *cluster }

func (p slicesHome) Of(types.NamespacedName) (all []reconcile.Slice) {
	for _, name := range slices.Sorted(maps.Keys(p.slices)) {
		all = append(all, *p.slices[name])
	}
	return all
}

func (p slicesHome) Read(_ context.Context, at types.NamespacedName) ([]byte, error) {
	switch {
	case p.dead:
		return nil, errDead
	case p.data[at.Name] == nil:
		return nil, apierrors.NewNotFound(sliceResource, at.Name)
	case p.storm && p.chance("reading a slice fails", 10):
		p.note("reading a slice fails")
		return nil, errServer()
	}
	return p.data[at.Name], nil
}

func (p slicesHome) Create(_ context.Context, s *v1alpha1.ApplicationSlice) error {
	defer p.guard()
	if p.point("before a slice is stored"); p.dead {
		return errDead
	}
	if p.storm && p.chance("storing a slice fails", 10) {
		p.note("storing a slice fails")
		return errServer()
	}
	if was := p.slices[s.Name]; was != nil && was.Deleting {
		return apierrors.NewConflict(sliceResource, s.Name, nil)
	}
	p.put(s)
	if p.point("after a slice is stored"); p.dead {
		return errDead
	}
	return nil
}

// put stores a slice.
func (c *cluster) put(s *v1alpha1.ApplicationSlice) {
	if leaks(string(s.Data)) || leaks(unpacked(s.Data)) {
		c.fail("a slice has a value of a Secret")
	}
	c.server.serial++
	c.note("slice %.8s is stored", s.Name)
	c.slices[s.Name] = &reconcile.Slice{
		NamespacedName: types.NamespacedName{Namespace: "default", Name: s.Name}, UID: types.UID(fmt.Sprint("s", c.server.serial)),
		ResourceVersion: strconv.Itoa(c.server.serial), Since: c.now,
	}
	c.data[s.Name] = s.Data
}

func unpacked(data []byte) string {
	var content json.RawMessage
	_ = v1alpha1.Unpack(data, &content) // a part of a larger text cannot be read
	return string(content)
}

// Delete sends two requests: one deletes the slice, and the other removes the finalizer.
func (p slicesHome) Delete(_ context.Context, s reconcile.Slice) error {
	defer p.guard()
	if p.point("before a slice is deleted"); p.dead {
		return errDead
	}
	was := p.slices[s.Name]
	switch {
	case was == nil:
		return nil
	case was.ResourceVersion != s.ResourceVersion:
		return apierrors.NewConflict(sliceResource, s.Name, nil)
	}
	p.server.serial++
	was.Deleting, was.ResourceVersion = true, strconv.Itoa(p.server.serial)
	if p.point("before a slice is released"); p.dead {
		return errDead
	}
	p.drop(s.Name)
	return nil
}

// drop removes a slice. It fails if the Application still refers to the slice.
func (c *cluster) drop(name string) {
	if !c.over && slices.Contains(slice.Names(c.app), name) {
		c.fail("slice %s is deleted, and is named", name)
	}
	c.note("slice %.8s is gone", name)
	delete(c.slices, name)
	delete(c.data, name)
}

// cut splits a spec into slices, as `holdfast submit` does before it writes the Application.
func (c *cluster) cut(spec v1alpha1.ApplicationSpec) v1alpha1.ApplicationSpec {
	if c.maxBytes == 0 {
		return spec
	}
	lists := map[string]any{}
	for field, list := range map[string][]runtime.RawExtension{"manifest": spec.Manifest, "observerSchema": spec.ObserverSchema} {
		var items []any
		if err := json.Unmarshal([]byte(jsonOf(list)), &items); err != nil {
			c.fail("%v", err)
		}
		lists[field] = items
	}
	stored, made, err := slice.SplitSpec("default", c.app.Name, lists, c.maxBytes)
	if err != nil {
		c.fail("%v", err)
	}
	for i := range made {
		was := c.slices[made[i].Name]
		if was != nil && was.Deleting {
			if slices.Contains(slice.Names(c.app), was.Name) {
				continue // the Application refers to it, so it is not deleted
			}
			c.drop(was.Name) // submit waits for the deletion
		}
		c.put(&made[i])
	}
	for field, list := range map[string]*[]runtime.RawExtension{"manifest": &spec.Manifest, "observerSchema": &spec.ObserverSchema} {
		items, _ := stored[field].([]any)
		*list = nil
		for _, item := range items {
			*list = append(*list, runtime.RawExtension{Raw: []byte(jsonOf(item))})
		}
	}
	return spec
}

// submitByHalves simulates a submit that fails before it writes the Application.
func (c *cluster) submitByHalves() {
	data := []byte(strings.Repeat("x", c.oneOf("length", 1, 2, 3)))
	name := slice.Name(c.app.Name, data)
	if was := c.slices[name]; was != nil && was.Deleting {
		return
	}
	s := &v1alpha1.ApplicationSlice{Data: data}
	s.Name, s.Finalizers = name, []string{v1alpha1.SliceFinalizer}
	c.put(s)
}

// collect runs the garbage collection of the slices of a deleted Application.
func (c *cluster) collect() {
	_, _ = c.reconciler().Collect(c.t.Context(), types.NamespacedName{Namespace: "default", Name: c.app.Name}, nil) // it is tried again
	c.rethrow()
	if c.dead {
		c.start()
	}
}
