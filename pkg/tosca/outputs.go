package tosca

import "k8s.io/apimachinery/pkg/runtime"

// outputs evaluates the outputs, in the order of the template. Outputs that need a running deployment are no mistake.
// Translate calls it last, and mistakes in outputs become warnings, because no manifest needs them. An output without a
// value, or with a function such as get_attribute that needs a deployment, is Unavailable. Validate discards the
// result, but contains the warnings.
func (e *evaluator) outputs() []Output {
	p := e.entry.topology().get("outputs")
	if !e.faults.wantMap(p) {
		return nil
	}
	var all []Output
	for _, entry := range p.entries() {
		if !e.faults.wantMap(entry) {
			continue
		}
		e.known(entry, outputKeys)
		output := Output{Name: entry.name(), Description: entry.get("description").text(), State: Unavailable}
		if content := entry.get("value"); content.exists() {
			output.set(e.eval(content, scope{output: true}))
		}
		all = append(all, output)
	}
	return all
}

// set sets the value and the state of an output.
//
//	value                                         state        Value
//	unknown, unset                                Unavailable  nil
//	secret, or with a sensitive name or field     Hidden       nil
//	any other, also null                          Available    a copy
//
// The copy is necessary, because values share parts, and the caller can change its Result.
func (o *Output) set(v value) {
	switch {
	case v.unknown || v.unset:
	case v.secret || IsSensitive(o.Name) || hasSensitiveName(v.any):
		o.State = Hidden
	default:
		o.State, o.Value = Available, runtime.DeepCopyJSONValue(v.any)
	}
}
