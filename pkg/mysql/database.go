package mysql

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	v1 "holdfast.dev/holdfast/pkg/api/mysql/v1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/template"
)

// Minimum sizes. With less, the server does not start.
const (
	leastCPU     = "10m"
	leastMemory  = "128Mi"
	leastStorage = "256Mi"
)

// mostSize is the maximum of each size. The options are computed from sizes as int64, in which a larger one is 0.
const mostSize = "1Ei"

// maxNameLength leaves room for the suffix that Kubernetes adds to the name of a StatefulSet in a label of
// its Pods: a dash and a hash of ten characters. A label value has at most 63 characters.
const maxNameLength = 52

// database is a Mysql with a valid spec. cpu, memory and storage are its parsed sizes.
type database struct {
	identity

	spec                 v1.MysqlSpec
	cpu, memory, storage resource.Quantity
}

// newDatabase validates a Mysql. It checks the rules of the CustomResourceDefinition, because plans are also made
// without an API server, and rules that the definition cannot express. The error joins all validation errors. The
// result is valid only without an error. The spec must have its defaults: see decode.
func newDatabase(object *v1.Mysql) (*database, error) {
	d := &database{identity: identity{object.Name, object.Namespace}, spec: object.Spec}
	return d, errors.Join(
		checkName(d.name),
		checkQuantity("cpu", d.spec.CPU, "250m", leastCPU, &d.cpu),
		checkQuantity("memory", d.spec.Memory, "512Mi", leastMemory, &d.memory),
		checkQuantity("storage", d.spec.Storage, "10Gi", leastStorage, &d.storage),
		checkText("version", d.spec.Version, tag, "must be a tag of the image, such as 8.4"),
		checkText("database", d.spec.Database, databaseName, "must have 1 to 64 letters, digits, '_' and '-'"),
		checkText("serviceAccountName", d.spec.ServiceAccountName, objectName, "is not the name of a ServiceAccount"),
		checkPolicy(d.spec.DeletionPolicy),
		checkDatabase(d.spec.Database),
		checkClass(d.spec.StorageClassName),
		checkConfiguration(d.spec.Configuration),
	)
}

var (
	// quantityForm excludes quantities with large exponents, such as 1e999999999. To parse or compare one takes minutes.
	quantityForm = regexp.MustCompile(`^[+-]?[0-9.]{1,32}([eE][+-]?[0-9]{1,2}|[KMGTPE]i|[numkMGTPE])?$`)
	// tag matches a version: it is both a tag of the image and a label value.
	tag          = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
	databaseName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	objectName   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`)
	serviceName  = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

// fault returns an error for a field of the spec.
func fault(field, format string, args ...any) *template.ValidationError {
	return invalid(manifest.Path{"spec", field}, fmt.Sprintf(format, args...))
}

// invalid returns an error for a field of the Mysql; a nil path is the Mysql itself.
func invalid(path manifest.Path, message string) *template.ValidationError {
	return &template.ValidationError{Path: path, Reason: template.ReasonSpecInvalid, Message: message}
}

// checkName returns an error for a name that the objects of the Mysql cannot have. A Service requires more than other
// objects: its name is a DNS label that begins with a letter.
func checkName(name string) error {
	var message string
	switch {
	case name == "":
		message = "is missing"
	case len(name) > maxNameLength:
		message = fmt.Sprintf("has %d characters, and at most %d are allowed in a label of the Pod", len(name), maxNameLength)
	case !serviceName.MatchString(name):
		message = "must be a valid name of a Service: lower-case letters, digits and '-', beginning with a letter"
	default:
		return nil
	}
	return invalid(manifest.Path{"metadata", "name"}, message)
}

// checkQuantity parses a size into parsed. It returns an error if the size is not a quantity, less than the minimum, or
// more than mostSize.
func checkQuantity(field, text, example, least string, parsed *resource.Quantity) error {
	notQuantity := fault(field, "must be a quantity such as %s, not %q", example, shortened(text))
	if !quantityForm.MatchString(text) {
		return notQuantity
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return notQuantity
	}
	if quantity.Cmp(resource.MustParse(least)) < 0 {
		return fault(field, "is %s, but MySQL needs at least %s", shortened(text), least)
	}
	if quantity.Cmp(resource.MustParse(mostSize)) > 0 {
		return fault(field, "is %s, but at most %s is possible", shortened(text), mostSize)
	}
	*parsed = quantity
	return nil
}

// shortened limits the length of an invalid value in a message.
func shortened(text string) string {
	if len(text) > 32 {
		return strings.ToValidUTF8(text[:32], "") + "…"
	}
	return text
}

// checkText returns an error with a message unless the text matches.
func checkText(field, text string, pattern *regexp.Regexp, message string) error {
	if pattern.MatchString(text) {
		return nil
	}
	return fault(field, "%s", message)
}

// checkPolicy returns an error for an unknown deletion policy.
func checkPolicy(policy v1.DeletionPolicy) error {
	if policy == v1.DeletionKeep || policy == v1.DeletionDelete {
		return nil
	}
	return fault("deletionPolicy", "must be %s or %s", v1.DeletionKeep, v1.DeletionDelete)
}

// ownDatabases are the databases that the server creates for itself.
var ownDatabases = []string{"mysql", "sys", "information_schema", "performance_schema"}

// checkDatabase returns an error for the name of a system database. The server ignores case in these names.
func checkDatabase(name string) error {
	if slices.Contains(ownDatabases, strings.ToLower(name)) {
		return fault("database", "%s is a system database of the server", name)
	}
	return nil
}

// checkClass returns an error for an invalid name of a StorageClass. "" is valid: it disables dynamic provisioning.
func checkClass(name *string) error {
	if name == nil {
		return nil
	}
	return checkText("storageClassName", *name, objectName, "is not the name of a StorageClass")
}
