// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// object is a part of a JSON merge patch: a nil value takes a field away.
type object map[string]any

// servicePatch returns what has to change in a Service, nil when nothing has.
func servicePatch(want, have *corev1.Service, annotations []string) ([]byte, error) {
	spec := object{}
	if have.Spec.Type != want.Spec.Type {
		spec["type"] = want.Spec.Type
	}
	if have.Spec.ExternalName != want.Spec.ExternalName {
		spec["externalName"] = orNil(want.Spec.ExternalName)
	}
	if have.Spec.ClusterIP != want.Spec.ClusterIP {
		spec["clusterIP"] = orNil(want.Spec.ClusterIP)
		spec["clusterIPs"] = nil
		if want.Spec.ClusterIP == "" {
			spec["ipFamilies"], spec["ipFamilyPolicy"] = nil, nil
		}
	}
	if len(have.Spec.Selector) > 0 {
		spec["selector"] = nil
	}
	if !equality.Semantic.DeepEqual(desired.ServicePorts(have.Spec.Ports), want.Spec.Ports) {
		spec["ports"] = want.Spec.Ports
	}
	return assemble(have, metaPatch(want, have, annotations), object{"spec": spec})
}

// slicePatch returns what has to change in an EndpointSlice, nil when nothing has.
func slicePatch(want, have *discoveryv1.EndpointSlice) ([]byte, error) {
	body := object{}
	if !equality.Semantic.DeepEqual(desired.EndpointPorts(have.Ports), want.Ports) {
		body["ports"] = want.Ports
	}
	if !equality.Semantic.DeepEqual(desired.Endpoints(have.Endpoints), want.Endpoints) {
		body["endpoints"] = want.Endpoints
	}
	return assemble(have, metaPatch(want, have, []string{desired.AnnotationWithheld}), body)
}

// metaPatch returns what has to change in labels, and in annotations with some keys: others belong to users.
func metaPatch(want, have metav1.Object, annotations []string) object {
	meta := object{}
	changes := changed(have.GetLabels(), want.GetLabels())
	// An old discoverer's labels, which no copy is built with, are true as well, and clients may still use them.
	delete(changes, gimbalv1.LegacyLabelBackend)
	delete(changes, gimbalv1.LegacyLabelService)
	if len(changes) > 0 {
		meta["labels"] = changes
	}
	if changes := changed(desired.Annotations(have.GetAnnotations(), annotations), want.GetAnnotations()); len(changes) > 0 {
		meta["annotations"] = changes
	}
	return meta
}

// changed returns the patch from one map to another.
func changed(have, want map[string]string) object {
	changes := object{}
	for key := range have {
		if _, ok := want[key]; !ok {
			changes[key] = nil
		}
	}
	for key, value := range want {
		if current, ok := have[key]; !ok || current != value {
			changes[key] = value
		}
	}
	return changes
}

// assemble returns a patch that is only taken for the very object, in the state in which it was read.
func assemble(have metav1.Object, meta, body object) ([]byte, error) {
	if spec, ok := body["spec"].(object); ok && len(spec) == 0 {
		delete(body, "spec")
	}
	if len(meta) == 0 && len(body) == 0 {
		return nil, nil
	}
	meta["uid"], meta["resourceVersion"] = have.GetUID(), have.GetResourceVersion()
	body["metadata"] = meta
	patch, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("patch of %s/%s: %w", have.GetNamespace(), have.GetName(), err)
	}
	return patch, nil
}

func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}
