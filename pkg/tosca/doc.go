// Package tosca translates TOSCA templates and CSAR archives into manifests.
//
// It is pure: bytes and values in, objects out. It reads no file and no network. Files that the archive does not
// contain come from a Resolver, which decides what may be read. All work is bounded: the limits are in limits.go.
// Every mistake is an *Error with file, line, column, path and a stable code.
//
// A translation consists of phases, and each uses the result of the previous one. The loader reads files, and the
// library reads their types. The model contains the inputs and nodes of the entry template. The evaluator computes
// their values, and the renderer makes manifests of them. A session contains the state that they share: the
// mistakes and the work done. A file of the package uses only the phases before its own.
//
// A mistake counts if a manifest needs the part of the template; otherwise it becomes a warning. Values of sensitive
// inputs are marked as secret, and so is every value that is made of one. A limit, or the end of the context, ends
// the translation with a panic of type stop, which Translate recovers.
//
// docs/tosca.md describes the supported features, and the differences to other tools.
//
//	source := tosca.Source{Name: "shop.yaml", Data: data}
//	result, err := tosca.Translate(ctx, source, inputs, tosca.Options{})
//	for _, object := range result.Objects {
//		fmt.Println(object["kind"])
//	}
package tosca
