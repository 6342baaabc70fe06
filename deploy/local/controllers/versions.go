package controllers

import (
	"context"
	"fmt"
)

// The functions below accept what several versions of Kubernetes declare, because `make test-versions` compiles
// this package with each of them.

// constructed returns a controller, and the error if its constructor returns one, as all do in Kubernetes 1.37.
func constructed[C any](results ...any) (C, error) {
	err, _ := results[len(results)-1].(error)
	return results[0].(C), err
}

// runnable returns the method Run of a controller, which has a number of workers in Kubernetes 1.37.
func runnable(method any) (run, error) {
	switch method := method.(type) {
	case func(context.Context):
		return method, nil
	case func(context.Context, int):
		return func(ctx context.Context) { method(ctx, workers) }, nil
	}
	return nil, fmt.Errorf("the method Run is a %T", method)
}
