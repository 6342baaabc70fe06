{{/* The labels of the controller's Pods. */}}
{{- define "holdfast.pods" -}}
app.kubernetes.io/name: holdfast
app.kubernetes.io/component: controller
{{- end }}

{{/* The labels of every object. */}}
{{- define "holdfast.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/*
A file of the chart, for the namespace of the release, with the labels. Takes a list: the
root, the path. It stays text: the functions of Helm that read YAML make 1e+06 of a million.
*/}}
{{- define "holdfast.file" -}}
{{- $root := index . 0 -}}
{{- $text := $root.Files.Get (index . 1) | replace "namespace: holdfast-system" (printf "namespace: %s" $root.Release.Namespace) -}}
{{- $labels := include "holdfast.labels" $root | nindent 4 -}}
{{- regexReplaceAll "(?m)^metadata:\n((?:  (?:name|namespace|annotations):.*\n(?:    .*\n)*)*)(?:  labels:\n)?" $text (printf "metadata:\n${1}  labels:%s\n" $labels) -}}
{{- end }}

{{/* The image of the controller. */}}
{{- define "holdfast.image" -}}
{{- with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end -}}
{{- end }}

{{/* What the priority of the controller is called; empty for none. */}}
{{- define "holdfast.priority" -}}
{{- if .Values.priorityClass.create }}holdfast-controller{{ else }}{{ .Values.priorityClass.name }}{{ end -}}
{{- end }}
