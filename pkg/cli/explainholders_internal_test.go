package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/claim"
)

// You can paste the command that lists the fields of an owner.
func TestTheCommandForAnOwnerNamesTheObject(t *testing.T) {
	var text bytes.Buffer
	writeHolder(&text, claim.Holder{Application: "shop/web", Owns: true, Whole: true}, "deploy/web", false)
	assert.Equal(t, "  shop/web owns it\n      to list the fields: holdfast explain web -n shop deploy/web\n", text.String())
}
