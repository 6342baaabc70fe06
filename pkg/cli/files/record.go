package files

import (
	"fmt"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// UnpackRecord replaces status.record of a stored Application by the fields that it contains. It changes object, and
// does nothing without a record. Other parts of the object are unchanged. The controller packs large parts of a
// status into status.record, because etcd limits the size of an object.
func UnpackRecord(object map[string]any) error {
	status, _ := object["status"].(map[string]any)
	if _, packed := status["record"]; !packed {
		return nil
	}
	var read v1alpha1.ApplicationStatus
	if err := fill(status, &read); err != nil {
		return fmt.Errorf("reading the status: %w", err)
	}
	whole, err := ToObject(v1alpha1.WholeStatus(read))
	if err != nil {
		return err
	}
	object["status"] = whole
	return nil
}
