package files

import (
	"errors"

	"holdfast.dev/holdfast/pkg/plan"
)

// Misspelt is an error for the fields that their kinds do not have, each in the file
// that it is in. Check comes first.
func (s *Submission) Misspelt() error {
	app := s.App.DeepCopy()
	if app.Namespace == "" {
		app.Namespace = "default"
	}
	faults := plan.UnknownFieldsIn(plan.Input{Application: app, Kinds: s.kinds, Source: s.translation})
	all := make([]error, len(faults))
	for i, fault := range faults {
		all[i] = s.located(fault)
		if s.whole.Value != nil {
			all[i] = FaultAt(s.whole, faultPath(fault), fault.Error())
		}
	}
	return errors.Join(all...)
}
