package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// nodeIsReady returns nil once Pods can run on the node.
func (s *supervisor) nodeIsReady(ctx context.Context) error {
	body, err := s.probe.do(ctx, http.MethodGet, "https://"+address(s.ports.APIServer)+"/api/v1/nodes/local", "")
	if err != nil {
		return err
	}
	var node struct {
		Spec struct {
			Taints []any
		}
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}
	if err := json.Unmarshal(body, &node); err != nil {
		return fmt.Errorf("decoding the node: %w", err)
	}
	if len(node.Spec.Taints) > 0 {
		return errors.New("the node is still tainted")
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == "True" {
			return nil
		}
	}
	return errors.New("the node is not ready")
}
