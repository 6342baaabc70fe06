package page

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/cli/connection"
)

func TestAStoppedServerIsNoTrouble(t *testing.T) {
	store, c := newApplications(), &connection.Client{}
	for _, row := range []struct {
		err  error
		want string
	}{
		{errors.New("no"), "Applications: no"},
		{fmt.Errorf("listing: %w", context.Canceled), ""},
	} {
		store.heard(c, row.err, "list")
		_, _, trouble, _ := store.since(0)
		assert.Equal(t, row.want, trouble)
	}
}
