package files

import (
	"cmp"
	"errors"

	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/plan"
)

// Misspelt returns an error for the unknown fields of the manifests, each with its position in a file. It must be
// called after Check, which resolves the kinds. It changes nothing. Without --strict, the same fields are warnings
// of Check.
func (s *Submission) Misspelt() error {
	app := s.App.DeepCopy()
	app.Namespace = cmp.Or(app.Namespace, "default")
	faults := intent.UnknownFieldsIn((&plan.Input{Application: app, Kinds: s.kinds, Source: s.translation}).Intent())
	all := make([]error, len(faults))
	for i, fault := range faults {
		all[i] = s.located(fault)
		if s.whole.Value != nil {
			all[i] = FaultAt(s.whole, faultPath(fault), fault.Error())
		}
	}
	return errors.Join(all...)
}
