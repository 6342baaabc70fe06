package hooks_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/hooks"
)

func TestListenersRunInOrderUntilError(t *testing.T) {
	h, failed := hooks.New(), errors.New("no")
	var called []string
	listen := func(h *hooks.Hooks, name string, err error) {
		h.ApplicationPreDelete.Listen(name, func(*hooks.Lifecycle) error {
			called = append(called, name)
			return err
		})
	}
	listen(h, "first", nil)
	more := hooks.New()
	listen(more, "second", failed)
	listen(more, "third", nil)

	err := h.And(more).ApplicationPreDelete.Run(&hooks.Lifecycle{})

	assert.Equal(t, []string{"first", "second"}, called)
	assert.EqualError(t, err, "hook second of ApplicationPreDelete: no")
	require.ErrorIs(t, err, failed)
	assert.NoError(t, h.And(nil).ApplicationPreDelete.Run(&hooks.Lifecycle{}), "neither is changed")
}

func TestPanicBecomesErrorWithoutValue(t *testing.T) {
	h := hooks.New()
	h.ResourcePreCreate.Listen("broken", func(*hooks.CreateEvent) error { panic("hunter2") })
	assert.EqualError(t, h.ResourcePreCreate.Run(&hooks.CreateEvent{}), "hook broken of ResourcePreCreate: panic (string)")
}

func TestPointNames(t *testing.T) {
	failed := errors.New("no")
	h := reflect.ValueOf(hooks.New()).Elem()
	for i := range h.NumField() {
		listen, run := h.Field(i).Addr().MethodByName("Listen"), h.Field(i).Addr().MethodByName("Run")
		fails := reflect.MakeFunc(listen.Type().In(1), func([]reflect.Value) []reflect.Value {
			return []reflect.Value{reflect.ValueOf(&failed).Elem()}
		})
		listen.Call([]reflect.Value{reflect.ValueOf("test"), fails})
		err, _ := run.Call([]reflect.Value{reflect.Zero(run.Type().In(0))})[0].Interface().(error)
		assert.EqualError(t, err, "hook test of "+h.Type().Field(i).Name+": no")
	}
}
