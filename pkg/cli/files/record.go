package files

import (
	"encoding/json"
	"fmt"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// UnpackRecord has a stored Application show what its status.record packs, in the fields
// that are there for it. The others stay as they are.
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
