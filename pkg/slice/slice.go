package slice

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/footprint"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// maxSliceBytes is the maximum size of the data in a slice. It leaves room for the copy that `kubectl
// apply` keeps in an annotation (256 KiB, in base64 with the rest of the object).
const maxSliceBytes = 180 << 10

// Name returns the name of the slice of an Application with the given data: a SHA-256 digest in hexadecimal, which is
// a valid object name.
func Name(application string, data []byte) string {
	digest := sha256.New()
	digest.Write([]byte(application + "\n")) // writing to a hash never fails
	digest.Write(data)
	return hex.EncodeToString(digest.Sum(nil))
}

// split splits data into slices. names lists their names in the order of the data. Both are nil for no data. The
// finalizer keeps a slice while its Application refers to it.
func split(namespace, application string, data []byte) (slices []v1alpha1.ApplicationSlice, names []string) {
	for len(data) > 0 {
		part := data[:min(maxSliceBytes, len(data))]
		data = data[len(part):]
		name := Name(application, part)
		names = append(names, name)
		slices = append(slices, v1alpha1.ApplicationSlice{
			TypeMeta:    metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.SliceKind},
			ObjectMeta:  metav1.ObjectMeta{Name: name, Namespace: namespace, Finalizers: []string{v1alpha1.SliceFinalizer}},
			Application: application, Data: part,
		})
	}
	return slices, names
}

// Unavailable is the error for a slice that an Application refers to and that cannot be used.
type Unavailable struct {
	Name string
	// Wrong is true if the slice exists and its data do not match its name.
	Wrong bool
	// Cause is the error of reading the content of this slice and those after it: a *footprint.Excess if it is too
	// large, and another one if it is no compressed list.
	Cause error
}

// Error returns the reason. intent.SliceProblem adds the remedy.
func (u *Unavailable) Error() string {
	switch excess, isExcess := errors.AsType[*footprint.Excess](u.Cause); {
	case isExcess:
		return fmt.Sprintf("the ApplicationSlices from %s on have %s", u.Name, excess)
	case u.Cause != nil:
		return fmt.Sprintf("the content of the ApplicationSlice %s cannot be read: %s", u.Name, u.Cause)
	case u.Wrong:
		return fmt.Sprintf("the data of the ApplicationSlice %s does not match its name", u.Name)
	}
	return fmt.Sprintf("the ApplicationSlice %s does not exist", u.Name)
}

// Get returns the data of a slice, which must not be changed. It returns an *Unavailable if the slice does not exist.
// All names are in the namespace of the Application.
type Get func(name string) (data []byte, err error)

// joinData returns the concatenated data of slices. It returns the first error of get, or an *Unavailable for data
// that do not match their name, or that exceed MaxUnpacked: anyone can repeat a name.
func joinData(application string, names []string, get Get) (data []byte, err error) {
	for _, name := range names {
		part, err := get(name)
		if err != nil {
			return nil, err
		}
		if Name(application, part) != name {
			return nil, &Unavailable{Name: name, Wrong: true}
		}
		if len(data)+len(part) > v1alpha1.MaxUnpacked {
			return nil, &Unavailable{Name: names[0], Cause: &footprint.Excess{Limit: v1alpha1.MaxUnpacked >> 20, Unit: "MiB"}}
		}
		data = append(data, part...)
	}
	return data, nil
}
