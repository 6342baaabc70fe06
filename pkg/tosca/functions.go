package tosca

// The table lists the functions of TOSCA 1.x, without the dollar, and those of TOSCA 2.0 that need more than values.
// The functions of TOSCA 2.0 that compute a value from values are in operations. The table since must list all names of
// both: a test compares them. notAvailable is for functions of a running deployment, and notSupported for functions
// about several instances of a node, which a manifest does not have.
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
//
//	{get_input: port}                 the value of the input port
//	{get_input: [db, hosts, 0]}       the first element of hosts in the input db
//	{$get_input: port}                the same in TOSCA 2.0
//
// The result has the type of the input: an integer remains an integer in a map of a manifest. In concat, it becomes
// text.
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
	e.faults.addAll(in.mistakes...)
	return e.walk(v, rest)
}

// pointed returns the call that contains the arguments, for the position of an error. A path that ends at the argument
// would repeat the name of the function, and the reader searches for the call.
func pointed(args fileNode) fileNode {
	if args.path != nil && args.path.up != nil {
		args.path = args.path.up
	}
	return args
}
