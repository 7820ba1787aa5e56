// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const systemNamespace = "groundskeeper-system"

// managerConfig is the ConfigMap whose name ends with a hash of the configuration.
const managerConfig = "groundskeeper-controller-manager-config"

// workload is what values are for.
type workload struct {
	section string
	// image is an expression for the image.
	image string
	// arguments is the field of the container that flags are in.
	arguments string
	// scales reports whether values have the number of replicas.
	scales bool
	// placement are the fields of the pod that values have.
	placement []string
	// ports are expressions for those of the container that values have, by name.
	ports map[string]string
}

var workloads = map[string]workload{
	"groundskeeper-apiserver": productWorkload("apiserver", map[string]string{"https": ".Values.apiserver.port"}),
	"groundskeeper-controller-manager": productWorkload("controllerManager", map[string]string{
		"metrics": `include "groundskeeper.port" (list . "health" 2718)`, "webhooks": `include "groundskeeper.port" (list . "webhooks" 2719)`,
	}),
	// It has a fixed number of members, and spreads them itself. Its image is from another project.
	"groundskeeper-etcd": {"etcd", ".Values.etcd.image | quote", "command", false, []string{"nodeSelector", "tolerations"}, nil},
}

func productWorkload(section string, ports map[string]string) workload {
	image := `include "groundskeeper.image" (list . .Values.` + section + `.image) | quote`
	return workload{section, image, "args", true, []string{"nodeSelector", "tolerations", "affinity"}, ports}
}

// isConfig reports whether an object is the configuration of the controller manager.
func isConfig(o object) bool {
	return o.text("kind") == "ConfigMap" && strings.HasPrefix(o.text("metadata", "name"), managerConfig+"-")
}

// settle puts pieces of template into an object, where values change it. It leaves unknown objects unchanged.
func settle(o object, s *snippets) error {
	switch o.text("kind") {
	case "Deployment", "StatefulSet":
		w, ok := workloads[o.text("metadata", "name")]
		if !ok {
			return fmt.Errorf("%s: no values are for it", o.id())
		}
		return w.settle(o, s)
	case "ConfigMap":
		if isConfig(o) {
			fields(o, "metadata")["name"] = s.value(`include "groundskeeper.configName" .`)
			fields(o)["data"] = map[string]any{s.line(`{{- dict "config.yaml" (include "groundskeeper.config" .) | toYaml | nindent INDENT }}`): ""}
		}
	case "PersistentVolumeClaim":
		settleVolume(o, s)
		// The objects of all users are on it: it is deleted only by a user.
		keep(o)
	case "Namespace":
		keep(o)
		if o.text("metadata", "name") == systemNamespace {
			const label = "pod-security.kubernetes.io/enforce"
			fields(o, "metadata", "labels")[label] = s.value(fmt.Sprintf("ternary %q %q (or .Values.apiserver.hostNetwork .Values.controllerManager.hostNetwork)",
				"privileged", o.text("metadata", "labels", label)))
		}
	case "NetworkPolicy":
		if o.text("metadata", "name") == "groundskeeper-etcd" {
			return settleClients(o, s)
		}
	}
	return nil
}

// keep lets an object stay where Helm uninstalls the chart, or where values leave it out.
func keep(o object) {
	if o.at("metadata", "annotations") == nil {
		fields(o, "metadata")["annotations"] = map[string]any{}
	}
	fields(o, "metadata", "annotations")["helm.sh/resource-policy"] = "keep"
}

func settleVolume(claim object, s *snippets) {
	fields(claim, "spec", "resources", "requests")["storage"] = s.value(".Values.volume.size | quote")
	fields(claim, "spec")[s.line("{{- with .Values.volume.storageClassName }}\nstorageClassName: {{ . | quote }}\n{{- end }}")] = ""
}

// settleClients lets API servers on the network of nodes connect to etcd: no policy can select the addresses of these.
func settleClients(policy object, s *snippets) error {
	rules, _ := policy.at("spec", "ingress").([]any)
	rule, _ := rules[0].(map[string]any)
	from, err := yaml.Marshal(map[string]any{"from": rule["from"]})
	delete(rule, "from")
	rule[s.line("{{- if not .Values.apiserver.hostNetwork }}\n"+string(from)+"{{- end }}")] = ""
	return err
}

func (w workload) settle(o object, s *snippets) error {
	values := ".Values." + w.section
	if w.scales {
		number := fmt.Sprintf(`ternary %v (%s.replicas | int) (kindIs "invalid" %[2]s.replicas)`, o.at("spec", "replicas"), values)
		fields(o, "spec")["replicas"] = s.value(number)
	}
	claims, _ := o.at("spec", "volumeClaimTemplates").([]any)
	for _, claim := range claims {
		settleVolume(claim.(map[string]any), s)
	}
	pod := fields(o, "spec", "template", "spec")
	containers, _ := pod["containers"].([]any)
	if len(containers) != 1 {
		return fmt.Errorf("%s: it has %d containers", o.id(), len(containers))
	}
	container, _ := containers[0].(map[string]any)
	container["image"] = s.value(w.image)
	container[s.line("{{- with .Values.image.pullPolicy }}\nimagePullPolicy: {{ . }}\n{{- end }}")] = ""
	delete(container, "resources")
	container[s.line(block("resources", values+".resources"))] = ""
	arguments, _ := container[w.arguments].([]any)
	container[w.arguments] = append(arguments, s.line("{{- range "+values+".extraArgs }}\n- {{ . | quote }}\n{{- end }}"))
	if err := w.settlePorts(container, s); err != nil {
		return fmt.Errorf("%s: %w", o.id(), err)
	}
	if len(w.ports) > 0 {
		pod[s.line("{{- if "+values+".hostNetwork }}\nhostNetwork: true\ndnsPolicy: ClusterFirstWithHostNet\n{{- end }}")] = ""
	}
	for _, field := range w.placement {
		if _, there := pod[field]; there {
			return fmt.Errorf("%s: it already has a %s, which values would replace", o.id(), field)
		}
		pod[s.line(block(field, values+"."+field))] = ""
	}
	pod[s.line(block("imagePullSecrets", ".Values.image.pullSecrets"))] = ""
	volumes, _ := pod["volumes"].([]any)
	for _, volume := range volumes {
		if of := object(volume.(map[string]any)); strings.HasPrefix(of.text("configMap", "name"), managerConfig+"-") {
			fields(of, "configMap")["name"] = s.value(`include "groundskeeper.configName" .`)
		}
	}
	return nil
}

// settlePorts puts the ports of values into a container, and into the flag that has one of them.
func (w workload) settlePorts(container map[string]any, s *snippets) error {
	ports, _ := container["ports"].([]any)
	arguments, _ := container[w.arguments].([]any)
	found := 0
	for _, item := range ports {
		port, _ := item.(map[string]any)
		name, _ := port["name"].(string)
		expression, ok := w.ports[name]
		if !ok {
			continue
		}
		flag := fmt.Sprintf("--secure-port=%v", port["containerPort"])
		if at := slices.Index(arguments, any(flag)); at >= 0 {
			arguments[at] = "--secure-port=" + s.value(expression)
		}
		port["containerPort"] = s.value(expression)
		found++
	}
	if found != len(w.ports) {
		return fmt.Errorf("it has %d of the %d ports that values have", found, len(w.ports))
	}
	return nil
}

// block returns a field that is there when a value is.
func block(field, value string) string {
	return fmt.Sprintf("{{- with %s }}\n%s:\n{{- toYaml . | nindent DEEPER }}\n{{- end }}", value, field)
}

// fields returns the map at a path. The caller has checked the path: a missing one is a bug.
func fields(o object, path ...string) map[string]any {
	value, _ := o.at(path...).(map[string]any)
	return value
}
