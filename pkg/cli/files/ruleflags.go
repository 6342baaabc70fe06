package files

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// RuleFlags are the flags for the rule of a held field: one for each of observer.RuleKeys, and --keys.
//
//	--minimum 1 --maximum 5        {minimum: 1, maximum: 5}
//	--one-of a --one-of b          {oneOf: [a, b]}
//	--mode report                  {mode: report}
//	--keys '*'                     {keys: {hold: ["*"]}}
type RuleFlags struct {
	// flags is nil for a command without these flags.
	flags *pflag.FlagSet
	// keys close a map.
	keys []string
}

// Add registers the flags. Values of any type remain texts until Held parses them as YAML.
func (f *RuleFlags) Add(flags *pflag.FlagSet) {
	f.flags = flags
	for _, key := range observer.RuleKeys {
		if key.IsList {
			f.flags.StringArray(key.Flag, nil, key.Usage)
		} else {
			f.flags.String(key.Flag, "", key.Usage)
		}
	}
	f.flags.StringArrayVar(&f.keys, "keys", nil, "`KEY`: map key that other clients may not add; * matches any text; can be repeated")
}

// Held returns the rule that applies to the paths. A value of any type is YAML: 5 is a number, "5" a string with its
// quotes, and 50% a string. The engine validates the rule later, with the manifest. Held combines all flags without a
// check: the engine rejects, for example, a minimum together with a pattern, and names the item of spec.fields.
func (f *RuleFlags) Held() (held v1alpha1.HeldField, err error) {
	if f.flags == nil {
		return held, nil
	}
	value := func(key observer.RuleKey, text string) json.RawMessage {
		raw, problem := yaml.YAMLToJSON([]byte(text))
		// With null, the field would have no rule.
		if err == nil && (problem != nil || !json.Valid(raw) || string(raw) == "null") {
			err = fmt.Errorf("--%s: %q is not a value", key.Flag, text)
		}
		return raw
	}
	said := map[string]any{}
	for _, key := range observer.RuleKeys {
		text, _ := f.flags.GetString(key.Flag)
		texts, _ := f.flags.GetStringArray(key.Flag)
		var values []json.RawMessage
		for _, text := range texts {
			values = append(values, value(key, cmp.Or(text, `""`))) // an empty string is a value here
		}
		switch {
		case values != nil:
			said[key.Name] = values
		case text != "" && key.IsText:
			said[key.Name] = text
		case text != "":
			said[key.Name] = value(key, text)
		}
	}
	if len(f.keys) > 0 {
		said["keys"] = map[string]any{"hold": f.keys}
	}
	if err == nil {
		err = json.Unmarshal(manifest.EncodeJSON(said), &held)
	}
	return held, err
}
