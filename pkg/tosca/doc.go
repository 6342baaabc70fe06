// Package tosca translates TOSCA templates and CSAR archives into manifests.
//
// It is pure: bytes and values in, objects out. It reads no file and no network;
// what a template imports and its archive does not have, a Resolver reads, which
// decides what may be read. Everything is bounded: the limits are in limits.go.
// Every mistake is an *Error with file, line, column, path and a stable code.
//
// A translation is a row of phases, and each uses the result of the one before: the
// loader reads files, the library reads their types, the model has the inputs and nodes
// of the entry template, the evaluator gives them values, and manifests are rendered of
// these. A session has what they share: the limits and the mistakes. A file of the package
// knows the phases before its own. A mistake counts if a manifest needs the part of the
// template; otherwise it becomes a warning.
//
// docs/tosca.md describes the supported features, and the differences to other tools.
//
//	source := tosca.Source{Name: "shop.yaml", Data: data}
//	result, err := tosca.Translate(ctx, source, inputs, tosca.Options{})
//	for _, object := range result.Objects {
//		fmt.Println(object["kind"])
//	}
package tosca
