package tosca

import "holdfast.dev/holdfast/pkg/tosca/csar"

// Code is the kind of mistake of an Error. Codes are stable: programs may rely on them. docs/tosca.md lists them. The
// documentation explains each code, and the command line prints it. Codes of package csar are the same for users.
type Code string

// The codes of errors.
const (
	InvalidYAML            Code = "InvalidYAML"
	DuplicateKey           Code = "DuplicateKey"
	LimitExceeded          Code = "LimitExceeded"
	UnknownVersion         Code = "UnknownVersion"
	MissingRequiredKeyname Code = "MissingRequiredKeyname"
	UnknownKeyname         Code = "UnknownKeyname"
	InvalidShape           Code = "InvalidShape"
	InvalidImport          Code = "InvalidImport"
	MissingImportFile      Code = "MissingImportFile"
	SourceNotAllowed       Code = "SourceNotAllowed"
	UnknownRepository      Code = "UnknownRepository"
	EmbeddedCredential     Code = "EmbeddedCredential"
	InvalidType            Code = "InvalidType"
	UnknownDataType        Code = "UnknownDataType"
	ValueTypeMismatch      Code = "ValueTypeMismatch"
	InvalidConstraint      Code = "InvalidConstraint"
	ConstraintViolation    Code = "ConstraintViolation"
	UnknownInput           Code = "UnknownInput"
	MissingInput           Code = "MissingInput"
	UnknownFunction        Code = "UnknownFunction"
	InvalidFunction        Code = "InvalidFunction"
	NotAvailable           Code = "NotAvailable"
	UnknownProperty        Code = "UnknownProperty"
	MissingProperty        Code = "MissingProperty"
	PropertyLoop           Code = "PropertyLoop"
	UnknownNode            Code = "UnknownNode"
	UnknownArtifact        Code = "UnknownArtifact"
	ForeignNode            Code = "ForeignNode"
	DependencyLoop         Code = "DependencyLoop"
	NotSupported           Code = "NotSupported"
	EmptySpec              Code = "EmptySpec"
	InvalidManifest        Code = "InvalidManifest"
	Internal               Code = "Internal"

	InvalidArchive  Code = csar.InvalidArchive
	InsecurePath    Code = csar.InsecurePath
	DuplicateEntry  Code = csar.DuplicateEntry
	ArchiveTooLarge Code = csar.ArchiveTooLarge
	InvalidMeta     Code = csar.InvalidMeta
	NoEntry         Code = csar.NoEntry
)

// rules explain codes without a quotation. They replace the messages about fetched files: the author of a URL must
// not learn its content through an error.
var rules = map[Code]string{
	"":                     "has no effect, or not the expected effect", // a warning
	InvalidYAML:            "the text is not valid YAML",
	DuplicateKey:           "a map contains a key twice",
	LimitExceeded:          "a limit is exceeded",
	UnknownVersion:         "the version of TOSCA is not known",
	MissingRequiredKeyname: "a required key is missing",
	UnknownKeyname:         "unknown key",
	InvalidShape:           "the value has the wrong type",
	InvalidImport:          "the import is not valid",
	MissingImportFile:      "the imported file was not found",
	SourceNotAllowed:       "the file may not be read from this source",
	UnknownRepository:      "unknown repository",
	EmbeddedCredential:     "a credential is written into the template",
	InvalidType:            "the type is not known or not valid",
	UnknownDataType:        "the data type is not known",
	ValueTypeMismatch:      "the value does not have the declared type",
	InvalidConstraint:      "the constraint is not valid",
	ConstraintViolation:    "the value breaks a constraint",
	UnknownInput:           "unknown input",
	MissingInput:           "a required input has no value and no default",
	UnknownFunction:        "unknown function",
	InvalidFunction:        "the arguments of the function are not valid",
	NotAvailable:           "needs a running deployment; not available when manifests are rendered",
	UnknownProperty:        "unknown property",
	MissingProperty:        "a required property is missing",
	PropertyLoop:           "properties depend on each other in a loop",
	UnknownNode:            "unknown node template",
	UnknownArtifact:        "unknown artifact",
	ForeignNode:            "the node template is not a Kubernetes object",
	DependencyLoop:         "requirements make a loop",
	NotSupported:           "is not supported",
	EmptySpec:              "the spec is empty",
	InvalidManifest:        "the manifest is not valid",
	InvalidArchive:         "the archive is not valid",
	InsecurePath:           "a path points outside the archive",
	DuplicateEntry:         "the archive contains an entry twice",
	ArchiveTooLarge:        "the archive is too large",
	InvalidMeta:            "TOSCA.meta is not valid",
	NoEntry:                "it is not clear which template is the entry",
}
