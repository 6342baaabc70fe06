package controllers

import (
	"reflect"
	"slices"
)

// The functions below call what has other parameters or results in another version of Kubernetes, because
// `make test-versions` compiles this package with several versions.

// construct calls the constructor of a C, and returns its error if it has one.
func construct[C any](constructor any, arguments ...any) (C, error) {
	results := call(constructor, arguments...)
	err, _ := results[len(results)-1].Interface().(error)
	c, _ := results[0].Interface().(C)
	return c, err
}

// call calls a function. Each parameter is the first argument of its type, or zero if there is none.
func call(function any, arguments ...any) []reflect.Value {
	f := reflect.ValueOf(function)
	parameters := make([]reflect.Value, f.Type().NumIn())
	for i := range parameters {
		parameter := f.Type().In(i)
		parameters[i] = reflect.Zero(parameter)
		if at := slices.IndexFunc(arguments, func(a any) bool { return reflect.TypeOf(a).AssignableTo(parameter) }); at >= 0 {
			parameters[i] = reflect.ValueOf(arguments[at])
		}
	}
	return f.Call(parameters)
}
