package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	kjson "sigs.k8s.io/json"
)

// eventDecoder decodes the events of a watch, each of which begins on a line of its own. It implements
// watch.Decoder.
type eventDecoder struct {
	body  io.Closer
	lines *bufio.Reader
}

// Close ends the watch.
func (d *eventDecoder) Close() { _ = d.body.Close() }

// Decode waits for the next event. Its object is a streamedObject or, if the event is an error, a Status. It
// returns io.EOF if the watch has ended.
func (d *eventDecoder) Decode() (watch.EventType, runtime.Object, error) {
	var text []byte
	for {
		line, readErr := d.lines.ReadBytes('\n')
		if text = append(text, line...); len(bytes.TrimSpace(text)) == 0 && readErr == nil {
			continue
		}
		if len(bytes.TrimSpace(text)) == 0 {
			return "", nil, readErr
		}
		kind, object, err := decodeEvent(text)
		switch {
		case err == nil:
			return kind, object, nil
		case !isTruncated(err, text):
			return "", nil, err
		case errors.Is(readErr, io.EOF):
			return "", nil, io.ErrUnexpectedEOF
		case readErr != nil:
			return "", nil, readErr
		} // an API server that indents its JSON needs several lines for an event
	}
}

// isTruncated reports whether decoding a text failed at its end.
func isTruncated(err error, text []byte) bool {
	isSyntax, offset := kjson.SyntaxErrorOffset(err)
	return isSyntax && offset >= int64(len(text))
}

// decodeEvent decodes the type of an event and the identity of its object.
func decodeEvent(text []byte) (watch.EventType, runtime.Object, error) {
	var event struct {
		Type   watch.EventType `json:"type"`
		Object struct {
			Metadata struct {
				Name            string    `json:"name"`
				Namespace       string    `json:"namespace"`
				UID             types.UID `json:"uid"`
				ResourceVersion string    `json:"resourceVersion"`
			} `json:"metadata"`
		} `json:"object"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &event); err != nil {
		return "", nil, err
	}
	at := &event.Object.Metadata
	object := &streamedObject{event: text, ObjectMeta: metav1.ObjectMeta{
		Name: at.Name, Namespace: at.Namespace, UID: at.UID, ResourceVersion: at.ResourceVersion,
	}}
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		return event.Type, object, nil
	case watch.Bookmark:
		content, err := object.Decode()
		return event.Type, content, err
	case watch.Error:
		var failed struct {
			Object metav1.Status `json:"object"`
		}
		err := kjson.UnmarshalCaseSensitivePreserveInts(text, &failed)
		return event.Type, &failed.Object, err
	}
	return "", nil, fmt.Errorf("a watch event has the unknown type %q", event.Type)
}

// streamedObject is the object of a watch event. It is decoded only if it is needed: most events report the
// controller's own writes, and a Store contains their results already. Of its ObjectMeta, only name, namespace, UID and
// resourceVersion are set.
type streamedObject struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// event is the JSON of the event.
	event []byte
}

// DeepCopyObject implements runtime.Object. The event is never changed, so the copy shares it.
func (o *streamedObject) DeepCopyObject() runtime.Object {
	return &streamedObject{TypeMeta: o.TypeMeta, ObjectMeta: *o.ObjectMeta.DeepCopy(), event: o.event}
}

// Decode decodes the complete object. The caller owns the result.
func (o *streamedObject) Decode() (*unstructured.Unstructured, error) {
	var event struct {
		Object map[string]any `json:"object"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(o.event, &event); err != nil {
		return nil, err
	}
	if len(event.Object) == 0 {
		return nil, errors.New("a watch event has no object")
	}
	return &unstructured.Unstructured{Object: event.Object}, nil
}
