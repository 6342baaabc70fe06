package cluster

import (
	"encoding/json"
	"fmt"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// DecodeProfile decodes a HoldProfile from JSON.
func DecodeProfile(raw []byte) (*v1alpha1.HoldProfile, error) {
	p := &v1alpha1.HoldProfile{}
	if err := json.Unmarshal(raw, p); err != nil {
		return nil, fmt.Errorf("reading a HoldProfile: %w", err)
	}
	p.ManagedFields = nil
	return p, nil
}
