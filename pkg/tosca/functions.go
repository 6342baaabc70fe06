package tosca

func init() { // the functions evaluate their arguments, which call functions
	functions = map[string]function{
		"concat": {1, concat}, "join": {1, joined}, "token": {1, token},
		"get_input": {1, getInput}, "get_property": {1, getProperty}, "get_attribute": {1, getAttribute},
		"get_artifact": {1, getArtifact}, "get_operation_output": {1, notAvailable}, "get_nodes_of_type": {1, notAvailable},
		"matches": {2, matching}, "node_index": {2, notSupported}, "relationship_index": {2, notSupported},
		"available_allocation": {2, notSupported},
	}
}

// getInput is get_input: name, or [name, key or index…].
func getInput(e *evaluator, args fileNode, _ scope) value {
	name, rest := args, []fileNode(nil)
	if args.isList() {
		elements := args.elements()
		if len(elements) == 0 {
			e.faults.add(args, InvalidFunction, "get_input needs the name of an input")
			return unknown
		}
		name, rest = elements[0], elements[1:]
	}
	if !name.isScalar() || name.isNull() {
		e.faults.add(name, InvalidFunction, "get_input needs the name of an input, not %s", name.describe())
		return unknown
	}
	in := e.inputs[name.text()]
	if in == nil {
		e.faults.add(e.pointed(args), UnknownInput, "unknown input %s%s", shown(name.text()), e.declared(name.text()))
		return unknown
	}
	return e.walk(e.input(in, args), rest)
}

// pointed is the call itself: the place above its arguments.
func (e *evaluator) pointed(args fileNode) fileNode {
	if args.path != nil && args.path.up != nil {
		args.path = args.path.up
	}
	return args
}
