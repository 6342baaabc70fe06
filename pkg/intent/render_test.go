package intent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/intent"
)

func TestLongErrorsAreTruncated(t *testing.T) {
	long := strings.Repeat("a", 5000)
	for text, want := range map[string]string{
		"short":          "short",
		long:             long[:4096] + "…",
		"short\n" + long: "short\n… and 1 more lines",
		long + "\nb\nc":  long[:4096] + "\n… and 2 more lines",
	} {
		assert.Equal(t, want, intent.Summary(errors.New(text)))
	}
}
