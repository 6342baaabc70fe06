// Package tosca translates TOSCA templates and CSAR archives into manifests.
//
// It is pure: bytes and values in, objects out. It reads no file and no network;
// what a template imports and its archive does not have, a Resolver reads, which
// decides what may be read. Everything is bounded: the limits are in Limits.
// Every mistake is an *Error with file, line, column, path and a stable code.
//
// A translation is a row of phases, and each is given what the one before has made:
// the loader reads files, the library reads their types, the model is what the entry
// template says, the evaluator gives it values, and manifests are rendered of them.
// The validator looks at all the rest. A session has what they share: the limits and
// the mistakes. A file of the package knows the phases before its own.
//
// What is supported, and where it differs from other tools, is written down in
// docs/tosca.md.
//
//	source := tosca.Source{Name: "shop.yaml", Data: data}
//	result, err := tosca.Translate(ctx, source, inputs, tosca.Options{})
//	for _, object := range result.Objects {
//		fmt.Println(object["kind"])
//	}
package tosca
