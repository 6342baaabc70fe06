{{/* The labels of the controller's Pods. */}}
{{- define "holdfast.pods" -}}
app.kubernetes.io/name: holdfast
app.kubernetes.io/component: controller
{{- end }}

{{/* A file of the chart, for the namespace of the release. Takes a list: the root, the path. */}}
{{- define "holdfast.file" -}}
{{- $root := index . 0 -}}
{{- $root.Files.Get (index . 1) | replace "namespace: holdfast-system" (printf "namespace: %s" $root.Release.Namespace) -}}
{{- end }}

{{/* What the priority of the controller is called; empty for none. */}}
{{- define "holdfast.priority" -}}
{{- if .Values.priorityClass.create }}holdfast-controller{{ else }}{{ .Values.priorityClass.name }}{{ end -}}
{{- end }}
