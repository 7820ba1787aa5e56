// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestWebhooksOnLoopback checks that the webhooks of an installation point to loopback addresses instead of Services, and that an
// outage blocks what the documentation states.
func TestWebhooksOnLoopback(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	p := &Plane{options: Options{Artifacts: filepath.Join(root, "artifacts")}, ports: map[string]int{webhookPort(0): 4711}}
	objects, err := p.webhookManifests()
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 2 {
		t.Fatalf("%d configurations", len(objects))
	}
	failing := map[string]bool{}
	for _, object := range objects {
		if haveBundles(object) {
			t.Errorf("%s has a CA already", object.GetName())
		}
		configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, configuration, true); err != nil {
			t.Fatal(err)
		}
		for _, webhook := range configuration.Webhooks {
			if config := webhook.ClientConfig; config.Service != nil || !strings.HasPrefix(*config.URL, "https://127.0.0.1:4711/webhooks/validate-") {
				t.Errorf("%s leads to %v", webhook.Name, config)
			}
			failing[webhook.Name] = *webhook.FailurePolicy == admissionregistrationv1.Fail
			if !strings.Contains(webhook.Name, ".deletion.") {
				continue
			}
			for namespace, requested := range map[string]bool{"kube-system": false, "groundskeeper-system": false, "garden-a": true} {
				for role, ofProject := range map[string]bool{"project": true, "": false} {
					labelled := labels.Set{"kubernetes.io/metadata.name": namespace, "gardener.cloud/role": role}
					selector, err := metav1.LabelSelectorAsSelector(webhook.ObjectSelector)
					if err != nil {
						t.Fatal(err)
					}
					want := requested && ofProject == strings.HasPrefix(webhook.Name, "project-namespaces.")
					if selector.Matches(labelled) != want {
						t.Errorf("%s is queried about %v: %t", webhook.Name, labelled, !want)
					}
				}
			}
		}
	}
	for name, fails := range failing {
		if fails != (name == "project-namespaces.deletion.groundskeeper.io") {
			t.Errorf("an outage of %s blocks: %t", name, fails)
		}
	}
}
