package tosca

func init() { // the functions evaluate their arguments, which call functions
	functions = map[string]func(e *evaluator, args fileNode, s scope) value{
		"concat": concat, "join": joined, "token": token,
		"get_input": getInput, "get_property": getProperty, "get_attribute": getAttribute,
		"get_artifact": getArtifact, "get_operation_output": notAvailable, "get_nodes_of_type": notAvailable,
		"matches": matching, "node_index": notSupported, "relationship_index": notSupported,
		"available_allocation": notSupported,
	}
}

// getInput evaluates get_input: name, or [name, key or index…]. Errors in the value of the input are reported here,
// because they count only if the input is used.
func getInput(e *evaluator, args fileNode, _ scope) value {
	name, rest := args, []fileNode(nil)
	if args.isList() {
		elements := args.elements()
		if len(elements) == 0 {
			return e.fail(args, InvalidFunction, "get_input needs the name of an input")
		}
		name, rest = elements[0], elements[1:]
	}
	if !name.isScalar() || name.isNull() {
		return e.fail(name, InvalidFunction, "get_input needs the name of an input, not %s", name.describe())
	}
	in := e.inputs[name.text()]
	if in == nil {
		return e.fail(pointed(args), UnknownInput, "unknown input %s%s", quote(name.text()), e.declared(name.text()))
	}
	v := e.input(in, args)
	e.faults.addAll(nil, in.mistakes)
	return e.walk(v, rest)
}

// pointed returns the call that contains the arguments, for the position of an error.
func pointed(args fileNode) fileNode {
	if args.path != nil && args.path.up != nil {
		args.path = args.path.up
	}
	return args
}
