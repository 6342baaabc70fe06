package worker

import (
	"context"
	"net/http"
)

// RecoverPanics wraps a handler so that its panics are logged without their values, which http.Server would
// log. Like http.Server, it closes the connection.
func RecoverPanics(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if r := recover(); r != nil {
				if r != http.ErrAbortHandler { //nolint:errorlint,err113 // it is compared as http.Server does
					_ = PanicError(ctx, r)
				}
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(w, r)
	})
}
