package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// thousand returns a stream of 1000 Deployments, about 600 KB.
func thousand() []byte {
	var stream bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&stream, `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: echo-%d
  labels:
    app.kubernetes.io/name: echo
spec:
  replicas: 2
  selector:
    matchLabels:
      app: echo-%d
  template:
    metadata:
      labels:
        app: echo-%d
    spec:
      containers:
      - name: web
        image: registry.example.com/echo:1.2.3
        ports:
        - containerPort: 8080
          name: http
        env:
        - name: LEVEL
          value: "info"
        resources:
          requests: {cpu: 100m, memory: 64Mi}
          limits: {cpu: 500m, memory: 128Mi}
      serviceAccountName: echo
`, i, i, i)
	}
	return stream.Bytes()
}

func BenchmarkReadYAML(b *testing.B) {
	benchmarkRead(b, thousand())
}

func BenchmarkReadJSON(b *testing.B) {
	documents, err := Read("", thousand())
	if err != nil {
		b.Fatal(err)
	}
	var stream bytes.Buffer
	for _, document := range documents {
		if err := json.NewEncoder(&stream).Encode(document.Value); err != nil {
			b.Fatal(err)
		}
	}
	benchmarkRead(b, stream.Bytes())
}

func benchmarkRead(b *testing.B, data []byte) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read("", data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNormalize(b *testing.B) {
	documents, err := Read("", thousand())
	if err != nil {
		b.Fatal(err)
	}
	manifests := values(documents)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Normalize(manifests, Options{Application: application}); err != nil {
			b.Fatal(err)
		}
	}
}
