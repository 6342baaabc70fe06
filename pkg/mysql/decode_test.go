package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A field of a named string type is text, too.
func TestMistypedFieldsAreDescribed(t *testing.T) {
	for field, want := range map[string]string{
		"cpu":              "spec.cpu: must be text, not number: put it into quotes",
		"storageClassName": "spec.storageClassName: must be text, not number: put it into quotes",
		"deletionPolicy":   "spec.deletionPolicy: must be text, not number: put it into quotes",
	} {
		t.Run(field, func(t *testing.T) {
			_, _, err := decode(values{"spec": values{field: int64(2)}})
			require.EqualError(t, err, want)
		})
	}
	_, _, err := decode(values{"spec": "none"})
	require.EqualError(t, err, "spec: must be a map, not string")
	_, _, err = decode(values{"metadata": values{"generation": "1"}})
	require.EqualError(t, err, "metadata.generation: must be a number, not string")
}
