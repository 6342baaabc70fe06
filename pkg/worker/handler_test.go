package worker

import (
	"bytes"
	"context"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

func TestHandlerPanicLogOmitsValue(t *testing.T) {
	for _, row := range []struct {
		name   string
		called any
		says   string
	}{
		{"with a value", "canary", "handler_test.go"},
		{"to end the answer", http.ErrAbortHandler, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var text bytes.Buffer
			ctx := klog.NewContext(context.Background(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&text))))
			server := httptest.NewUnstartedServer(RecoverPanics(ctx, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(row.called) })))
			server.Config.ErrorLog = log.New(&text, "", 0)
			server.Start()

			response, err := http.Get(server.URL)
			if err == nil {
				_ = response.Body.Close()
			}
			server.Close() // waits for the handler
			assert.Error(t, err, "the connection is closed")
			assert.NotContains(t, text.String(), "canary")
			assert.Contains(t, text.String(), row.says)
			assert.Equal(t, row.says == "", text.Len() == 0, text.String())
		})
	}
}
