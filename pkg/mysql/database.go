package mysql

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"holdfast.dev/holdfast/pkg/api/mysql/v1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/template"
)

// Least sizes: with less, the server does not start.
const (
	leastCPU     = "10m"
	leastMemory  = "128Mi"
	leastStorage = "256Mi"
)

// longestName leaves room for what Kubernetes adds to the name of a StatefulSet
// in a label of its Pods: a dash and a hash of ten characters, of 63 in all.
const longestName = 52

// database is a Mysql whose spec is valid.
type database struct {
	name, namespace      string
	spec                 v1.MysqlSpec
	cpu, memory, storage resource.Quantity
}

// newDatabase checks what the definition of the kind checks, for who has no API
// server, and what it cannot check. The error joins all faults.
func newDatabase(object *v1.Mysql) (*database, error) {
	d := &database{name: object.Name, namespace: object.Namespace, spec: object.Spec}
	var faults []error
	for _, check := range []*template.Fault{
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
	} {
		if check != nil {
			faults = append(faults, check)
		}
	}
	for _, fault := range checkConfiguration(d.spec.Configuration) {
		faults = append(faults, fault)
	}
	return d, errors.Join(faults...)
}

var (
	tag          = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
	databaseName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	objectName   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`)
	serviceName  = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

func fault(field, format string, args ...any) *template.Fault {
	return &template.Fault{Path: manifest.Path{"spec", field}, Reason: template.ReasonSpecInvalid, Message: fmt.Sprintf(format, args...)}
}

func checkName(name string) *template.Fault {
	var message string
	switch {
	case name == "":
		message = "is missing"
	case len(name) > longestName:
		message = fmt.Sprintf("has %d characters, and at most %d become part of a label of the Pod", len(name), longestName)
	case !serviceName.MatchString(name):
		message = "must be a name for a Service: lower-case letters, digits and '-', a letter first"
	default:
		return nil
	}
	return &template.Fault{Path: manifest.Path{"metadata", "name"}, Reason: template.ReasonSpecInvalid, Message: message}
}

func checkQuantity(field, text, example, least string, parsed *resource.Quantity) *template.Fault {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return fault(field, "must be a quantity such as %s, not %q", example, shortened(text))
	}
	if quantity.Cmp(resource.MustParse(least)) < 0 {
		return fault(field, "is %s, and MySQL needs at least %s", shortened(text), least)
	}
	*parsed = quantity
	return nil
}

func shortened(text string) string {
	if len(text) > 32 {
		return strings.ToValidUTF8(text[:32], "") + "…"
	}
	return text
}

func checkText(field, text string, pattern *regexp.Regexp, message string) *template.Fault {
	if pattern.MatchString(text) {
		return nil
	}
	return fault(field, "%s", message)
}

func checkPolicy(policy v1.DeletionPolicy) *template.Fault {
	if policy == v1.DeletionKeep || policy == v1.DeletionDelete {
		return nil
	}
	return fault("deletionPolicy", "must be %s or %s", v1.DeletionKeep, v1.DeletionDelete)
}

var ownDatabases = []string{"mysql", "sys", "information_schema", "performance_schema"}

func checkDatabase(name string) *template.Fault {
	if slices.Contains(ownDatabases, strings.ToLower(name)) {
		return fault("database", "%s is a database of the server itself", name)
	}
	return nil
}

func checkClass(name *string) *template.Fault {
	if name == nil {
		return nil
	}
	return checkText("storageClassName", *name, objectName, "is not the name of a StorageClass")
}

// fits refuses a volume that would have to shrink.
func (d *database) fits(live template.Live) error {
	claim := live[manifest.ID{Kind: "PersistentVolumeClaim", Namespace: d.namespace, Name: d.volumeName()}]
	size := textAt(claim, "spec", "resources", "requests", "storage")
	if size == "" {
		return nil // there is no volume yet
	}
	has, err := resource.ParseQuantity(size)
	if err != nil {
		return fmt.Errorf("the size of the volume %s: %w", d.volumeName(), err)
	}
	if has.Cmp(d.storage) <= 0 {
		return nil
	}
	return &template.Fault{
		Path: manifest.Path{"spec", "storage"}, Reason: ReasonStorageShrinks,
		Message: fmt.Sprintf("is %s, and the volume %s has %s, which cannot shrink: set it to at least %s, or dump the data into a smaller Mysql",
			d.spec.Storage, d.volumeName(), has.String(), has.String()),
	}
}

// ReasonStorageShrinks: the volume is larger than the spec asks for.
const ReasonStorageShrinks = "StorageShrinks"
