{{/* The flags of the controller, a list in YAML. */}}
{{- define "holdfast.arguments" -}}
{{- $flags := list (list "config" "/etc/holdfast/config.yaml") (list "logging-format" .Values.logging.format) }}
{{- if .Values.callback.enabled }}
{{- $flags = append $flags (list "callback-external-url" (.Values.callback.externalURL | default "https://holdfast-callback.$(POD_NAMESPACE).svc")) }}
{{- if .Values.callback.tlsSecretName }}
{{- $flags = append $flags (list "callback-tls-cert-file" "/etc/holdfast-callback/tls.crt") }}
{{- $flags = append $flags (list "callback-tls-key-file" "/etc/holdfast-callback/tls.key") }}
{{- $flags = append $flags (list "callback-ca-file" "/etc/holdfast-callback/ca.crt") }}
{{- end }}
{{- else }}
{{- $flags = append $flags (list "callback-bind-address" "0") }}
{{- end }}
{{- if ne .Values.defaultServiceAccount "holdfast-applier" }}
{{- $flags = append $flags (list "default-service-account" .Values.defaultServiceAccount) }}
{{- end }}
{{- range .Values.allowURLPrefixes }}
{{- $flags = append $flags (list "allow-url-prefix" .) }}
{{- end }}
{{- range list
  (list "concurrency" .Values.concurrency)
  (list "resync-interval" .Values.resyncInterval)
  (list "source-interval" .Values.sourceInterval)
  (list "v" .Values.logging.verbosity)
  (list "leader-elect-lease-duration" .Values.leaderElection.leaseDuration)
  (list "leader-elect-renew-deadline" .Values.leaderElection.renewDeadline)
  (list "leader-elect-retry-period" .Values.leaderElection.retryPeriod) }}
{{- if index . 1 }}{{ $flags = append $flags . }}{{ end }}
{{- end }}
{{- range $flags }}
- {{ printf "%s%s=%v" (eq (index . 0) "v" | ternary "-" "--") (index . 0) (index . 1) | quote }}
{{- end }}
{{- end }}
