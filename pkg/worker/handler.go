package worker

import (
	"context"
	"net/http"
)

// Recovering is a handler whose panics are logged as any other: an http.Server would log what
// they were called with. The connection is closed, as such a server does.
func Recovering(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if r := recover(); r != nil {
				if r != http.ErrAbortHandler { //nolint:errorlint,err113 // it is compared as http.Server does
					_ = Panicked(ctx, r)
				}
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(w, r)
	})
}
