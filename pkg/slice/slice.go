package slice

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// most is how much data a slice is given: with it, the copy that `kubectl apply` keeps of
// the slice fits into an annotation (256 KiB of base64 and the rest of the object).
const most = 180 << 10

// Name is the name of the slice of an Application with that data.
func Name(application string, data []byte) string {
	digest := sha256.New()
	digest.Write([]byte(application + "\n")) // a hash never fails
	digest.Write(data)
	return hex.EncodeToString(digest.Sum(nil))
}

// cut makes slices of data.
func cut(namespace, application string, data []byte) (slices []v1alpha1.ApplicationSlice, names []string) {
	for len(data) > 0 {
		part := data[:min(most, len(data))]
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

// Unavailable is a slice that an Application names and that cannot be used.
type Unavailable struct {
	Name string
	// Wrong is true for a slice that is there and is not what its name says.
	Wrong bool
}

// Error says what to do, too.
func (u *Unavailable) Error() string {
	if u.Wrong {
		return fmt.Sprintf("the ApplicationSlice %s has other data than its name says", u.Name)
	}
	return fmt.Sprintf("the ApplicationSlice %s is not there", u.Name)
}

// Get reads the data of a slice; an *Unavailable says that it is not there.
type Get func(name string) (data []byte, err error)

// together is what slices have, one after the other.
func together(application string, names []string, get Get) (data []byte, err error) {
	for _, name := range names {
		part, err := get(name)
		if err != nil {
			return nil, err
		}
		if Name(application, part) != name {
			return nil, &Unavailable{Name: name, Wrong: true}
		}
		data = append(data, part...)
	}
	return data, nil
}
