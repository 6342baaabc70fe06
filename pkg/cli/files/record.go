package files

import (
	"encoding/json"
	"fmt"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// UnpackRecord replaces status.record of a stored Application by the fields that it contains. It changes object,
// and does nothing without a record. Other parts of the object are unchanged.
func UnpackRecord(object map[string]any) error {
	status, _ := object["status"].(map[string]any)
	if _, packed := status["record"]; !packed {
		return nil
	}
	raw, err := json.Marshal(status)
	if err != nil {
		return err
	}
	var read v1alpha1.ApplicationStatus
	if err := json.Unmarshal(raw, &read); err != nil {
		return fmt.Errorf("reading the status: %w", err)
	}
	if raw, err = json.Marshal(v1alpha1.WholeStatus(read)); err != nil {
		return err
	}
	whole, err := manifest.DecodeJSON(raw)
	if err != nil {
		return err
	}
	object["status"] = whole
	return nil
}
