package mysql

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	_ "holdfast.dev/holdfast/internal/repeatable"
	v1 "holdfast.dev/holdfast/pkg/api/mysql/v1"
	"holdfast.dev/holdfast/pkg/template"
)

func TestBufferPoolSize(t *testing.T) {
	for memory, pool := range map[string]string{
		"128Mi": "16Mi", "256Mi": "32Mi", "512Mi": "96Mi", "1Gi": "384Mi", "2Gi": "1152Mi", "4Gi": "2560Mi", "16Gi": "11Gi",
	} {
		bytes, instances := bufferPool(quantity(memory))
		assert.Equal(t, quantity(pool), bytes, memory)
		assert.Positive(t, instances, memory)
	}
}

func quantity(text string) int64 {
	q := resource.MustParse(text)
	return q.Value()
}

// For every memory size, the server has memory left outside of its pool, and the pool size is a multiple of
// 128 MiB per instance, so that the server does not round it up.
func TestBufferPoolLeavesMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		memory := rapid.Int64Range(quantity(leastMemory), 1<<40).Draw(t, "memory")
		pool, instances := bufferPool(memory)
		assert.LessOrEqual(t, pool, memory/4*3)
		assert.GreaterOrEqual(t, pool, int64(16*mebibyte))
		assert.Zero(t, pool%mebibyte)
		if unit := 128 * mebibyte * instances; pool > unit {
			assert.Zero(t, pool%unit)
		}
		assert.LessOrEqual(t, instances, int64(8))
	})
}

func TestBufferPoolGrowsWithMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		less := rapid.Int64Range(quantity(leastMemory), 1<<40).Draw(t, "less")
		more := rapid.Int64Range(less, 1<<41).Draw(t, "more")
		a, partsOfA := bufferPool(less)
		b, partsOfB := bufferPool(more)
		// With more instances, rounding can reduce the size by up to one more unit per instance.
		assert.LessOrEqual(t, a, b+128*mebibyte*max(partsOfA, partsOfB))
		assert.LessOrEqual(t, connections(less), connections(more))
	})
}

func FuzzConfiguration(f *testing.F) {
	for _, seed := range []string{"", "sort_buffer_size=1M", "[mysqld]\r\ndatadir=/x", "!include a", "loose-\x00", "=", "-_=-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, fault := range template.ValidationErrors(checkConfiguration(text)) {
			assert.NotEmpty(t, fault.Message)
		}
	})
}

// A larger volume needs no other Pod. Other changes of the files do.
func TestLargerStorageKeepsThePodTemplate(t *testing.T) {
	of := func(change func(*v1.MysqlSpec)) *database {
		object := &v1.Mysql{}
		object.Name = "shop"
		object.Spec = v1.MysqlSpec{Storage: "256Mi"}.Defaulted()
		change(&object.Spec)
		d, err := newDatabase(object)
		require.NoError(t, err)
		return d
	}
	before := of(func(*v1.MysqlSpec) {})
	assert.Contains(t, before.options(), "innodb-redo-log-capacity=16M")
	for _, size := range []string{"512Mi", "1Gi", "2Ti"} {
		larger := of(func(spec *v1.MysqlSpec) { spec.Storage = size })
		assert.Equal(t, before.statefulSet(), larger.statefulSet(), size)
		assert.NotEqual(t, before.options(), larger.options(), "the next start uses the storage")
	}
	for what, change := range map[string]func(*v1.MysqlSpec){
		"memory":        func(spec *v1.MysqlSpec) { spec.Memory = "1Gi" },
		"configuration": func(spec *v1.MysqlSpec) { spec.Configuration = "sort_buffer_size=1M" },
	} {
		assert.NotEqual(t, before.checksum(), of(change).checksum(), what)
	}
}
