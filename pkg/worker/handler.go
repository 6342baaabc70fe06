package worker

import (
	"bytes"
	"context"
	"log"
	"net/http"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"
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

// ErrorLog returns a log for the errors of http.Server about connections, for example if a client does not trust the
// certificate. Each error is logged with the message. Any client can cause such errors, so their rate is limited.
func ErrorLog(ctx context.Context, message string) *log.Logger {
	const perSecond, burst = 1, 10
	return log.New(&errorLog{klog.FromContext(ctx), message, rate.NewLimiter(perSecond, burst)}, "", 0)
}

type errorLog struct {
	logger  klog.Logger
	message string
	limit   *rate.Limiter
}

func (l *errorLog) Write(line []byte) (int, error) {
	if l.limit.Allow() {
		l.logger.Info(l.message, "problem", string(bytes.TrimSpace(line)))
	}
	return len(line), nil
}
