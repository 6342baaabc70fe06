package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
)

// writeKwokStages stores what kwok does to Nodes and Pods. The binary carries the
// documents of its own release and prints them, so that they are not copied here.
func (s *supervisor) writeKwokStages(ctx context.Context) error {
	if err := os.MkdirAll(s.dir.path("kwok"), 0o700); err != nil {
		return err
	}
	stages, err := exec.CommandContext(ctx, s.options.KwokBinary, "stages").Output()
	if err != nil {
		return fmt.Errorf("%s stages: %w", s.options.KwokBinary, err)
	}
	return s.dir.write("kwok/kwok.yaml", string(stages))
}

const nodeText = `{
  "apiVersion": "v1",
  "kind": "Node",
  "metadata": {
    "name": "local",
    "labels": {"type": "kwok", "kubernetes.io/hostname": "local", "kubernetes.io/os": "linux"},
    "annotations": {"kwok.x-k8s.io/node": "fake"}
  }
}`

// ensureNode makes the fake node and returns nil once Pods can run on it.
func (s *supervisor) ensureNode(ctx context.Context) error {
	nodes := "https://" + address(s.ports.APIServer) + "/api/v1/nodes"
	var node struct {
		Spec struct {
			Taints []any
		}
		Status struct {
			Conditions []struct{ Type, Status string }
		}
	}
	body, err := s.probe.do(ctx, http.MethodGet, nodes+"/local", "")
	if status := (statusError{}); errors.As(err, &status) && status.code == http.StatusNotFound {
		body, err = s.probe.do(ctx, http.MethodPost, nodes, nodeText)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &node); err != nil {
		return fmt.Errorf("decoding the node: %w", err)
	}
	if len(node.Spec.Taints) > 0 {
		return errors.New("the fake node is still tainted")
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == "True" {
			return nil
		}
	}
	return errors.New("the fake node is not ready")
}
