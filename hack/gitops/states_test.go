// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package gitops tests artifacts/gitops with the interpreters of the tools that read it.
package gitops

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
)

const artifacts = "../../artifacts/gitops"

// state is an object as the API server stores it, and how tools have to evaluate it.
type state struct {
	kind, name string
	// health is the expected result of Argo CD, status that of Flux.
	health, status string
	// message is a part of the message of Argo CD.
	message string
	object  map[string]any
}

// states returns each kind in each state, summarized by the code of the API server.
func states(t *testing.T) []state {
	t.Helper()
	var all []state
	for _, c := range []struct {
		name           string
		observed       int64
		conditions     map[string]string // by kind, as Type=Status/Reason
		health, status string
		message        string
	}{
		{name: "created", health: "Progressing", status: "InProgress", message: "generation 2 has not been reconciled yet"},
		{name: "changed", observed: 1, conditions: map[string]string{
			"Project":          "NamespaceReady=True/NamespaceCreated RBACReady=True/RolesReconciled",
			"DiscoveryBackend": "CredentialsValid=True/Accepted Available=True/DiscovererRunning Discovered=True/Synced",
			"Kluster":          "APIServerReachable=True/Reachable OpenStackReachable=True/Reachable",
			"Translation":      "Synced=True/Synced",
		}, health: "Progressing", status: "InProgress", message: "generation 2 has not been reconciled yet"},
		{name: "ready", observed: 2, conditions: map[string]string{
			"Project":          "NamespaceReady=True/NamespaceCreated RBACReady=True/RolesReconciled",
			"DiscoveryBackend": "CredentialsValid=True/Accepted Available=True/DiscovererRunning Discovered=True/Synced",
			"Kluster":          "APIServerReachable=True/Reachable OpenStackReachable=True/Reachable",
			"Translation":      "Synced=True/Synced",
		}, health: "Healthy", status: "Current"},
		{name: "retrying", observed: 2, conditions: map[string]string{
			"Project":          "NamespaceReady=True/NamespaceCreated RBACReady=False/RolesFailed",
			"DiscoveryBackend": "CredentialsValid=True/Accepted Available=False/DiscovererStarting Discovered=True/Synced",
			"Kluster":          "APIServerReachable=False/Unreachable OpenStackReachable=True/Reachable",
			"Translation":      "Synced=False/Retrying",
		}, health: "Progressing", status: "InProgress", message: "message of"},
		{name: "stalled", observed: 2, conditions: map[string]string{
			"Project":          "NamespaceReady=False/NamespaceInUse RBACReady=False/NamespaceMissing",
			"DiscoveryBackend": "CredentialsValid=False/Refused Available=True/DiscovererRunning Discovered=True/Synced",
			"Kluster":          "APIServerReachable=True/Reachable OpenStackReachable=False/CredentialsRefused",
			"Translation":      "Synced=False/Refused Stalled=True/Refused",
		}, health: "Degraded", status: "Failed", message: "message of"},
		{name: "paused before it was reconciled", conditions: map[string]string{
			"Project": "Paused=True/PausedByAnnotation",
			"Kluster": "Paused=True/Annotated",
		}, health: "Suspended", status: "Failed", message: "message of"},
	} {
		for kind, build := range builders() {
			list, ok := c.conditions[kind]
			if !ok && c.conditions != nil {
				continue
			}
			object := build(c.observed, parse(list))
			data, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			s := state{kind: kind, name: kind + ", " + c.name, health: c.health, status: c.status, message: c.message}
			if err := json.Unmarshal(data, &s.object); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
	}
	return all
}

// parse reads conditions that are written as Type=Status/Reason.
func parse(list string) []metav1.Condition {
	var all []metav1.Condition
	for _, text := range strings.Fields(list) {
		kind, rest, _ := strings.Cut(text, "=")
		value, reason, _ := strings.Cut(rest, "/")
		all = append(all, metav1.Condition{
			Type: kind, Status: metav1.ConditionStatus(value), Reason: reason, Message: "message of " + kind, ObservedGeneration: 2,
			LastTransitionTime: metav1.NewTime(noon),
		})
	}
	return all
}

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// builders returns a function per kind that creates an object with the given conditions.
func builders() map[string]func(observed int64, list []metav1.Condition) any {
	meta := metav1.ObjectMeta{Name: "it", Namespace: "somewhere", Generation: 2}
	kindOf := func(version, kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: version, Kind: kind} }
	return map[string]func(int64, []metav1.Condition) any{
		"Project": func(observed int64, list []metav1.Condition) any {
			p := &gardenerv1beta1.Project{TypeMeta: kindOf("core.gardener.cloud/v1beta1", "Project"), ObjectMeta: metav1.ObjectMeta{Name: "it", Generation: 2}}
			p.Status.ObservedGeneration = observed
			for _, c := range list {
				p.Status.Conditions = append(p.Status.Conditions, gardenerv1beta1.Condition{
					Type: gardenerv1beta1.ConditionType(c.Type), Status: gardenerv1beta1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
					LastTransitionTime: c.LastTransitionTime, LastUpdateTime: c.LastTransitionTime,
				})
			}
			conditions.SetProject(p, p.DeepCopy(), noon)
			return p
		},
		"DiscoveryBackend": func(observed int64, list []metav1.Condition) any {
			b := &gimbalv1.DiscoveryBackend{TypeMeta: kindOf("gimbal.heptio.com/v1", "DiscoveryBackend"), ObjectMeta: meta}
			b.Cluster.Type = gimbalv1.BackendKubernetes
			b.Status.ObservedGeneration, b.Status.Conditions = observed, list
			conditions.SetDiscoveryBackend(b, b.DeepCopy(), noon)
			return b
		},
		"Kluster": func(observed int64, list []metav1.Condition) any {
			k := &kubernikusv1.Kluster{TypeMeta: kindOf("kubernikus.sap.cc/v1", "Kluster"), ObjectMeta: meta}
			k.Status.ObservedGeneration, k.Status.Conditions = observed, list
			conditions.SetKluster(k, k.DeepCopy(), noon)
			return k
		},
		"Translation": func(observed int64, list []metav1.Condition) any {
			tr := &midonetv1.Translation{TypeMeta: kindOf("midonet.org/v1", "Translation"), ObjectMeta: meta}
			tr.Status.ObservedGeneration, tr.Status.Conditions = observed, list
			conditions.SetTranslation(tr, tr.DeepCopy(), noon)
			return tr
		},
	}
}
