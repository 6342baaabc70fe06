package hooks

import (
	"fmt"
	"slices"
)

// Point is a list of listeners. They are called in the order of registration. The first error stops the
// run.
type Point[E any] struct {
	// name is the name of the field in Hooks. It is empty until And sets it.
	name string
	// listeners are in the order in which they are called.
	listeners []listener[E]
}

type listener[E any] struct {
	name string
	call func(E) error
}

// Error is the error of one listener.
type Error struct {
	// Point and Listener name the point and the listener.
	Point, Listener string
	Err             error
}

func (e *Error) Error() string {
	return fmt.Sprintf("hook %s of %s: %v", e.Listener, e.Point, e.Err)
}

// Unwrap returns the listener's error.
func (e *Error) Unwrap() error { return e.Err }

// Listen registers a listener. The name appears in errors. Listen must not be called concurrently with Run.
func (p *Point[E]) Listen(name string, call func(E) error) {
	p.listeners = append(p.listeners, listener[E]{name, call})
}

// Names returns the names of the listeners in the order in which they are called.
func (p *Point[E]) Names() (names []string) {
	for _, l := range p.listeners {
		names = append(names, l.name)
	}
	return names
}

// Run calls the listeners. It converts a panic of a listener to an error without the value of the panic,
// because that value can contain secrets.
func (p *Point[E]) Run(event E) error {
	for _, l := range p.listeners {
		if err := l.run(event); err != nil {
			return &Error{Point: p.name, Listener: l.name, Err: err}
		}
	}
	return nil
}

// run calls the listener, and converts a panic to an error.
func (l listener[E]) run(event E) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic (%T)", r)
		}
	}()
	return l.call(event)
}

// point is a Point of any event type, for And.
type point interface{ join(name string, other any) }

// join sets the name of the point, and adds the listeners of another Point of the same event type.
func (p *Point[E]) join(name string, other any) {
	p.name, p.listeners = name, slices.Concat(p.listeners, other.(*Point[E]).listeners)
}
