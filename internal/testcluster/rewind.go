package testcluster

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
)

// State is the stored state of a control plane, for Rewind.
type State struct {
	stored map[string]keyValue
	// groups is the discovery document at that time.
	groups []byte
}

// keyValue is a key-value pair of etcd. Its JSON gateway encodes both in base64.
type keyValue struct {
	Key         string `json:"key"`
	Value       string `json:"value"`
	ModRevision string `json:"mod_revision"`
}

// running lists prefixes of keys that a control plane writes continuously.
var running = []string{"/registry/leases/", "/registry/masterleases/", "/registry/peerserverleases/", "/registry/events/"}

// State returns the current state.
func (c *Cluster) State(ctx context.Context) (State, error) {
	found, err := c.stored(ctx)
	if err != nil {
		return State{}, err
	}
	groups, err := c.groups(ctx)
	return State{stored: found, groups: groups}, err
}

// Rewind restores a state and returns when the API server has noticed. Starting another control plane takes
// ten times as long. The control plane must not be in use, and no component may have been killed or paused.
// Resource versions continue to grow.
func (c *Cluster) Rewind(ctx context.Context, to State) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	now, err := c.stored(ctx)
	if err != nil {
		return err
	}
	for key := range now {
		if _, ok := to.stored[key]; !ok {
			if err := c.etcd(ctx, "deleterange", map[string]string{"key": key}, nil); err != nil {
				return err
			}
		}
	}
	for key, then := range to.stored {
		if now[key].ModRevision != then.ModRevision && now[key].Value != then.Value {
			if err := c.etcd(ctx, "put", map[string]string{"key": key, "value": then.Value}, nil); err != nil {
				return err
			}
		}
	}
	noticed := func(ctx context.Context) (bool, error) {
		groups, err := c.groups(ctx)
		return bytes.Equal(groups, to.groups), err
	}
	if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, noticed); err != nil {
		return fmt.Errorf("waiting until the API server serves what it did: %w", err)
	}
	return nil
}

func (c *Cluster) stored(ctx context.Context) (map[string]keyValue, error) {
	text := base64.StdEncoding.EncodeToString
	var answer struct {
		KVs []keyValue `json:"kvs"`
	}
	all := map[string]string{"key": text([]byte("/registry/")), "range_end": text([]byte("/registry0"))}
	if err := c.etcd(ctx, "range", all, &answer); err != nil {
		return nil, err
	}
	byKey := make(map[string]keyValue, len(answer.KVs))
	for _, found := range answer.KVs {
		if key, err := base64.StdEncoding.DecodeString(found.Key); err != nil || isOfRunning(string(key)) {
			continue
		}
		byKey[found.Key] = found
	}
	return byKey, nil
}

func isOfRunning(key string) bool {
	return slices.ContainsFunc(running, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// etcd calls etcd's JSON gateway.
func (c *Cluster) etcd(ctx context.Context, method string, question, answer any) error {
	raw, err := os.ReadFile(filepath.Join(c.dir, "ports.json"))
	if err != nil {
		return err
	}
	var ports struct{ Etcd int }
	if err := json.Unmarshal(raw, &ports); err != nil {
		return err
	}
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/v3/kv/%s", ports.Etcd, method), bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: %s: %s", method, response.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// groups returns the served API groups and versions.
func (c *Cluster) groups(ctx context.Context) ([]byte, error) {
	config := c.Config()
	config.UserAgent = UserAgent
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.RESTClient().Get().AbsPath("/apis").DoRaw(ctx)
}
