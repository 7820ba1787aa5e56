// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

func TestFieldLabels(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kind := SchemeGroupVersion.WithKind("Project")
	for _, label := range []string{"metadata.name", "spec.namespace"} {
		if got, value, err := scheme.ConvertFieldLabel(kind, label, "garden-dev"); err != nil || got != label || value != "garden-dev" {
			t.Errorf("%s=garden-dev: got %s=%s, %v", label, got, value, err)
		}
	}
	for _, label := range []string{"metadata.namespace", "spec.owner", "status.phase"} {
		_, _, err := scheme.ConvertFieldLabel(kind, label, "x")
		if err == nil || !strings.Contains(err.Error(), `"`+label+`"`) || !strings.Contains(err.Error(), "metadata.name or spec.namespace") {
			t.Errorf("%s: got %v, want an error that names it and those that are served", label, err)
		}
	}
}
