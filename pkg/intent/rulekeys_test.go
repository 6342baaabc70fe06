package intent_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

// The API has a field for each rule, and the table of rules an entry for each field.
func TestTheFieldsOfAHoldItemAreItsRules(t *testing.T) {
	fields := map[string]reflect.Type{}
	for field := range reflect.TypeFor[v1alpha1.HeldField]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "-" && name != "path" && name != "keys" {
			fields[name] = field.Type
		}
	}
	for _, key := range observer.RuleKeys {
		field, has := fields[key.Name]
		if !assert.True(t, has, "pkg/api/v1alpha1/fields.go: HeldField needs a field for the rule %s", key.Name) {
			continue
		}
		delete(fields, key.Name)
		switch {
		case key.IsText:
			assert.Equal(t, reflect.String, field.Kind(), key.Name)
		case key.IsList:
			assert.Equal(t, reflect.TypeFor[[]runtime.RawExtension](), field, key.Name)
		default:
			assert.Equal(t, reflect.TypeFor[*runtime.RawExtension](), field, key.Name)
		}
	}
	for name := range fields {
		t.Errorf("pkg/observer/rulekey.go: RuleKeys needs an entry for the field %s of HeldField", name)
	}
}
