{{- /*
SPDX-FileCopyrightText: The Groundskeeper authors
SPDX-License-Identifier: Apache-2.0
*/ -}}
{{- /* The reference of an image: (list . .Values.apiserver.image) */ -}}
{{- define "groundskeeper.image" -}}
{{- $root := index . 0 }}{{ $image := index . 1 -}}
{{- $root.Values.image.registry }}/{{ $image.name -}}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default $root.Values.image.tag | default $root.Chart.AppVersion }}{{ end -}}
{{- end -}}

{{- /* The file of the controller manager: that of the values, byte for byte, unless a feature has to be enabled in it. */ -}}
{{- define "groundskeeper.config" -}}
{{- $text := .Values.controllerManager.config -}}
{{- $config := fromYaml $text -}}
{{- with $config.Error }}{{ fail (printf "controllerManager.config is no YAML: %s" .) }}{{ end -}}
{{- $discovery := dig "controllers" "discovery" "image" "" $config -}}
{{- $kluster := dig "controllers" "kluster" "enabled" false $config -}}
{{- $clusterAPI := dig "controllers" "kluster" "clusterAPI" "enabled" false $config -}}
{{- $limits := dig "server" "webhooks" "resourceSize" "limits" list $config -}}
{{- if and $discovery (not .Values.features.discovery.enabled) -}}
{{- fail "controllerManager.config has controllers.discovery.image, which needs permissions: set features.discovery.enabled" -}}
{{- end -}}
{{- if and $kluster (not .Values.features.kluster.enabled) -}}
{{- fail "controllerManager.config has controllers.kluster.enabled, which needs permissions: set features.kluster.enabled" -}}
{{- end -}}
{{- if and $clusterAPI (not .Values.features.clusterAPI.enabled) -}}
{{- fail "controllerManager.config has controllers.kluster.clusterAPI.enabled, which needs permissions: set features.clusterAPI.enabled" -}}
{{- end -}}
{{- if and .Values.features.clusterAPI.enabled (not .Values.features.kluster.enabled) -}}
{{- fail "features.clusterAPI.enabled creates Klusters: set features.kluster.enabled, too" -}}
{{- end -}}
{{- if and .Values.features.resourceSize.enabled (not $limits) -}}
{{- fail "features.resourceSize.enabled has no effect: controllerManager.config has no server.webhooks.resourceSize.limits" -}}
{{- end -}}
{{- $add := dict -}}
{{- if and .Values.features.discovery.enabled (not $discovery) -}}
{{- $_ := set $add "discovery" (dict "image" (include "groundskeeper.image" (list . .Values.discoverer.image))) -}}
{{- end -}}
{{- $klusters := dict -}}
{{- if and .Values.features.kluster.enabled (not $kluster) -}}
{{- $_ := set $klusters "enabled" true -}}
{{- end -}}
{{- if and .Values.features.clusterAPI.enabled (not $clusterAPI) -}}
{{- $_ := set $klusters "clusterAPI" (dict "enabled" true) -}}
{{- end -}}
{{- if $klusters -}}
{{- $_ := set $add "kluster" $klusters -}}
{{- end -}}
{{- if $add -}}
{{- if ne ($config.apiVersion | default "") "config.groundskeeper.io/v1alpha1" -}}
{{- fail "features can be enabled in a controllerManager.config of config.groundskeeper.io/v1alpha1 only" -}}
{{- end -}}
{{- toYaml (mustMergeOverwrite $config (dict "controllers" $add)) }}
{{ else -}}
{{- $text -}}
{{- end -}}
{{- end -}}

{{- /* A port that the file of the controller manager has, or its default: (list . "health" 2718) */ -}}
{{- define "groundskeeper.port" -}}
{{- $config := include "groundskeeper.config" (index . 0) | fromYaml -}}
{{- dig "server" (index . 1) "port" (index . 2) $config -}}
{{- end -}}

{{- /* The name that kustomize gives the ConfigMap: with a hash of what is in it, without its name, so that a change rolls the Deployment. */ -}}
{{- define "groundskeeper.configName" -}}
{{- $content := dict "kind" "ConfigMap" "name" "" "data" (dict "config.yaml" (include "groundskeeper.config" .)) -}}
{{- $hash := $content | mustToJson | sha256sum | trunc 10 -}}
{{- $hash = $hash | replace "0" "g" | replace "1" "h" | replace "3" "k" | replace "a" "m" | replace "e" "t" -}}
groundskeeper-controller-manager-config-{{ $hash }}
{{- end -}}
