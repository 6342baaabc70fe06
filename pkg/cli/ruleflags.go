package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// ruleFlags are the flags for the rule of a held field: its allowed values, or its mode.
//
//	--minimum 1 --maximum 5        {minimum: 1, maximum: 5}
//	--one-of a --one-of b          {oneOf: [a, b]}
//	--mode report                  {mode: report}
//	--keys '*'                     {keys: {hold: ["*"]}}
type ruleFlags struct {
	minimum, maximum string
	// oneOf are YAML values; so are minimum and maximum.
	oneOf               []string
	pattern, rule, mode string
	valueType           string
	// keys close a map.
	keys []string
}

// add registers the flags. Values of any type remain texts until held parses them as YAML.
func (f *ruleFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.minimum, "minimum", "", "`VALUE`: smallest allowed value: a number, a quantity or a percentage")
	flags.StringVar(&f.maximum, "maximum", "", "`VALUE`: largest allowed value")
	flags.StringArrayVar(&f.oneOf, "one-of", nil, "`VALUE`: allowed value, as in YAML; can be repeated")
	flags.StringVar(&f.pattern, "pattern", "", "`EXPRESSION`: regular expression (RE2) that the entire value must match")
	flags.StringVar(&f.rule, "rule", "", "`EXPRESSION`: CEL expression over self, the value, and object")
	flags.StringVar(&f.mode, "mode", "", "`MODE`: hold (always), push (write when the manifest changes), report (only report drift), or absent (remove)")
	flags.StringVar(&f.valueType, "type", "", "`TYPE`: set (hold list elements by their values, and keep those of other clients) or quantity (1Gi equals 1024Mi)")
	flags.StringArrayVar(&f.keys, "keys", nil, "`KEY`: map key that other clients may not add; * matches any text; can be repeated")
}

// held returns the rule that applies to the paths. The engine validates it later, with the manifest. It combines all
// flags without a check: the engine rejects, for example, a minimum together with a pattern, and names the item of
// spec.fields.
func (f *ruleFlags) held() (held v1alpha1.HeldField, err error) {
	held.Pattern, held.Rule, held.Mode = f.pattern, f.rule, v1alpha1.HeldMode(f.mode)
	held.Type = v1alpha1.HeldType(f.valueType)
	if held.Minimum, err = yamlValue("--minimum", f.minimum); err != nil {
		return held, err
	}
	if held.Maximum, err = yamlValue("--maximum", f.maximum); err != nil {
		return held, err
	}
	for _, text := range f.oneOf {
		value, err := yamlValue("--one-of", text)
		if err != nil {
			return held, err
		}
		// An empty string is a value here, and not a flag that is not given.
		if value == nil {
			value = &runtime.RawExtension{Raw: []byte(`""`)}
		}
		held.OneOf = append(held.OneOf, *value)
	}
	if len(f.keys) > 0 {
		held.Keys = &v1alpha1.HeldKeys{Hold: f.keys}
	}
	return held, nil
}

// yamlValue parses a YAML value, such as 5, "5" or 50%. It returns nil for an empty string.
//
//	5      the number 5
//	"5"    the string 5, with its quotes
//	50%    the string 50%
//	[a     an error
func yamlValue(flag, text string) (*runtime.RawExtension, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // a flag that is not given
	}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil || !json.Valid(raw) {
		return nil, fmt.Errorf("%s: %q is not a value", flag, text)
	}
	return &runtime.RawExtension{Raw: raw}, nil
}
