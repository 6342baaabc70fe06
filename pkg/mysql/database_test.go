package mysql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "holdfast.dev/holdfast/pkg/api/mysql/v1"
)

// A size beyond 64 bits has the integer value 0, from which the options of the server would be computed. A comparison
// with a large exponent takes minutes, and gigabytes of memory.
func TestSizesAreBounded(t *testing.T) {
	for size, want := range map[string]string{
		"100E":        "spec.memory: is 100E, but at most 1Ei is possible",
		"1e20":        "spec.memory: is 1e20, but at most 1Ei is possible",
		"1e30000000":  `spec.memory: must be a quantity such as 512Mi, not "1e30000000"`,
		"1e-30000000": `spec.memory: must be a quantity such as 512Mi, not "1e-30000000"`,
	} {
		t.Run(size, func(t *testing.T) {
			object := &v1.Mysql{}
			object.Name = "shop"
			object.Spec = v1.MysqlSpec{Memory: size}.Defaulted()
			object.Spec.DeletionPolicy = v1.DeletionKeep
			began := time.Now()
			_, err := newDatabase(object)
			require.EqualError(t, err, want)
			assert.Less(t, time.Since(began), time.Second)
		})
	}
}
