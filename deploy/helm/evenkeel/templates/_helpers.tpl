{{- /* Of every object: (list $ NAME), NAME being who it is for, evenkeel-controller or evenkeel-member. */ -}}
{{- define "evenkeel.labels" -}}
{{- $root := index . 0 -}}
{{- toJson (dict "app.kubernetes.io/name" (index . 1) "app.kubernetes.io/instance" $root.Release.Name "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/component" (trimPrefix "evenkeel-" (index . 1)) "app.kubernetes.io/part-of" "evenkeel"
  "app.kubernetes.io/managed-by" $root.Release.Service "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version)) -}}
{{- end -}}
