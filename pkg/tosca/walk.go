package tosca

import (
	"holdfast.dev/holdfast/pkg/manifest"
)

// pointed is the call itself: the place above its arguments.
func (e *evaluator) pointed(args place) place {
	if args.path != nil && args.path.up != nil {
		args.path = args.path.up
	}
	return args
}

func notAvailable(e *evaluator, args place, s scope) value {
	if !s.output && !e.later {
		e.faults.add(args, NotAvailable, "needs a running deployment; not available when manifests are rendered")
	}
	return unknown
}

// walk goes into a value: keys of maps, indexes of lists.
func (e *evaluator) walk(v value, steps []place) value {
	for _, step := range steps {
		e.step(e.ctx)
		if v.unknown {
			return v
		}
		var below any
		var there bool
		switch content := v.any.(type) {
		case map[string]any:
			below, there = content[step.text()]
		case []any:
			var index any
			if step.isScalar() {
				index, _ = manifest.Scalar(step.node, false)
			}
			if i, isInteger := index.(int64); isInteger && i >= 0 && i < int64(len(content)) {
				below, there = content[i], true
			}
		}
		if !there {
			e.faults.add(step, UnknownProperty, "there is no %s in the value", shown(step.text()))
			return unknown
		}
		v.any, v.size = below, sizeOf(below)
		v.secret = v.secret || IsSensitive(step.text())
	}
	return v
}
