package hooks_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/hooks"
)

func TestListenersAreCalledInOrderUntilOneFails(t *testing.T) {
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

func TestAPanicIsAnErrorThatSaysNothing(t *testing.T) {
	h := hooks.New()
	h.ResourcePreCreate.Listen("broken", func(*hooks.Creating) error { panic("hunter2") })
	assert.EqualError(t, h.ResourcePreCreate.Run(&hooks.Creating{}), "hook broken of ResourcePreCreate: panic (string)")
}

func TestEveryPointHasItsName(t *testing.T) {
	failed := errors.New("no")
	h, wanted := hooks.New(), []string{}
	var got []error
	check(h, &h.ApplicationToscaTranslation, "ApplicationToscaTranslation", failed, &wanted, &got)
	check(h, &h.ApplicationMangling, "ApplicationMangling", failed, &wanted, &got)
	check(h, &h.ApplicationPreReconcile, "ApplicationPreReconcile", failed, &wanted, &got)
	check(h, &h.ApplicationPostReconcile, "ApplicationPostReconcile", failed, &wanted, &got)
	check(h, &h.ApplicationPreDelete, "ApplicationPreDelete", failed, &wanted, &got)
	check(h, &h.ApplicationPostDelete, "ApplicationPostDelete", failed, &wanted, &got)
	check(h, &h.ResourcePreCreate, "ResourcePreCreate", failed, &wanted, &got)
	check(h, &h.ResourcePostCreate, "ResourcePostCreate", failed, &wanted, &got)
	check(h, &h.ResourcePreUpdate, "ResourcePreUpdate", failed, &wanted, &got)
	check(h, &h.ResourcePostUpdate, "ResourcePostUpdate", failed, &wanted, &got)
	check(h, &h.ResourceObserved, "ResourceObserved", failed, &wanted, &got)
	check(h, &h.ResourcePreDelete, "ResourcePreDelete", failed, &wanted, &got)
	check(h, &h.ResourcePostDelete, "ResourcePostDelete", failed, &wanted, &got)
	for i, err := range got {
		assert.EqualError(t, err, "hook test of "+wanted[i]+": no")
	}
}

func check[E any](_ *hooks.Hooks, point *hooks.Point[E], name string, err error, wanted *[]string, got *[]error) {
	point.Listen("test", func(E) error { return err })
	var event E
	*wanted, *got = append(*wanted, name), append(*got, point.Run(event))
}
