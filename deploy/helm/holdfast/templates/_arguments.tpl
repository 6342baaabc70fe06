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
{{- with .Values.notify.url }}
{{- $flags = append $flags (list "notify-url" .) }}
{{- if $.Values.notify.keySecretName }}
{{- $flags = append $flags (list "notify-key-file" "/etc/holdfast-notify/key") }}
{{- end }}
{{- end }}
{{- with .Values.auditWebhook }}
{{- if .enabled }}
{{- $flags = append $flags (list "audit-webhook-bind-address" ":9443") }}
{{- $flags = append $flags (list "audit-webhook-tls-cert-file" "/etc/holdfast-audit/tls/tls.crt") }}
{{- $flags = append $flags (list "audit-webhook-tls-private-key-file" "/etc/holdfast-audit/tls/tls.key") }}
{{- if .clientCASecretName }}
{{- $flags = append $flags (list "audit-webhook-client-ca-file" "/etc/holdfast-audit/clients/ca.crt") }}
{{- end }}
{{- if .tokenSecretName }}
{{- $flags = append $flags (list "audit-webhook-token-file" "/etc/holdfast-audit/token/token") }}
{{- end }}
{{- end }}
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

{{/* The Secrets that are mounted: volume, Secret and directory of each, a list in YAML. */}}
{{- define "holdfast.secrets" -}}
{{- if and .Values.callback.enabled .Values.callback.tlsSecretName }}
- {name: callback-tls, secret: {{ .Values.callback.tlsSecretName | quote }}, path: /etc/holdfast-callback}
{{- end }}
{{- if and .Values.notify.url .Values.notify.keySecretName }}
- {name: notify-key, secret: {{ .Values.notify.keySecretName | quote }}, path: /etc/holdfast-notify, item: key}
{{- end }}
{{- if .Values.auditWebhook.enabled }}
- {name: audit-tls, secret: {{ .Values.auditWebhook.tlsSecretName | quote }}, path: /etc/holdfast-audit/tls}
{{- with .Values.auditWebhook.clientCASecretName }}
- {name: audit-clients, secret: {{ . | quote }}, path: /etc/holdfast-audit/clients, item: ca.crt}
{{- end }}
{{- with .Values.auditWebhook.tokenSecretName }}
- {name: audit-token, secret: {{ . | quote }}, path: /etc/holdfast-audit/token, item: token}
{{- end }}
{{- end }}
{{- end }}
